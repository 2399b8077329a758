#include "join/rows/compression.h"

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

bool UncompressPieces(std::string_view bytes, uint64_t most_raw_bytes,
                      const std::function<bool(std::string_view piece)>& take) {
  constexpr int kMostWindowLog = 23;  // what AppendCompressed() makes needs no more
  ByteReader in(bytes);
  const uint64_t size = in.Varint(most_raw_bytes);
  const std::string_view packed = in.Rest();
  if (!in.ok()) return false;
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                   ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMostWindowLog);
  std::string piece(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  uint64_t taken = 0;
  for (;;) {
    ZSTD_outBuffer output{piece.data(), piece.size(), 0};
    const size_t more = ZSTD_decompressStream(context.get(), &output, &input);
    taken += output.pos;
    if (ZSTD_isError(more) || taken > size) return false;
    if (output.pos > 0 && !take(std::string_view(piece).substr(0, output.pos))) return false;
    if (more == 0) return taken == size && input.pos == input.size;
    if (output.pos == 0 && input.pos == input.size) return false;  // cut off
  }
}

}  // namespace rocksieve::join
