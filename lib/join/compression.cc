#include "join/compression.h"

#include <zstd.h>

#include <memory>
#include <new>
#include <stdexcept>

#include "format/byte_io.h"

namespace rocksieve::join {

void AppendCompressed(std::string_view raw, std::string* out) {
  constexpr int kLevel = 3;
  ByteWriter(out).Varint(raw.size());
  const size_t begin = out->size();
  out->resize(begin + ZSTD_compressBound(raw.size()));
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                   ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context.get(), out->data() + begin, out->size() - begin,
                                     raw.data(), raw.size());
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));  // no memory
  out->resize(begin + size);
}

bool Uncompress(std::string_view bytes, uint64_t most_raw_bytes, std::string* raw) {
  ByteReader in(bytes);
  const uint64_t size = in.Varint(most_raw_bytes);
  const std::string_view packed = in.Rest();
  if (!in.ok()) return false;
  // The frame says its size as well: so a short message cannot make us take much memory.
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) return false;
  raw->resize(size);
  return ZSTD_decompress(raw->data(), size, packed.data(), packed.size()) == size;
}

}  // namespace rocksieve::join
