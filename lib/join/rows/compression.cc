// SPDX-License-Identifier: Apache-2.0
#include "lib/join/rows/compression.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

#include "lib/format/byte_io.h"

namespace rocksieve::join {

namespace {

using Context = std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)>;

constexpr size_t kPieceBytes = 1 << 20;
constexpr int kMostWindowLog = 23;  // what AppendCompressed() makes needs no more
// Of zstd's buffers and tables beside the window: three blocks of 128 KiB, and ours.
constexpr uint64_t kBlockBytes = 640 << 10;

Context NewContext(Compression compression) {
  constexpr int kDenseLevel = 3, kQuickLevel = -20;
  const int level = compression == Compression::kDense ? kDenseLevel : kQuickLevel;
  Context context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  return context;
}

// Of a zstd frame: its content if it is a single segment, else what its window descriptor says (RFC
// 8878, 3.1.1.1). zstd's own function for it is not of its stable interface.
uint64_t WindowBytes(std::string_view frame) {
  constexpr size_t kFlags = 4, kDescriptor = 5;  // bytes of the frame
  constexpr uint8_t kSingleSegment = 0x20;
  if (frame.size() <= kDescriptor) return 0;
  if ((static_cast<uint8_t>(frame[kFlags]) & kSingleSegment) != 0) {
    return ZSTD_getFrameContentSize(frame.data(), frame.size());  // an error is a huge number
  }
  const auto descriptor = static_cast<uint8_t>(frame[kDescriptor]);
  const uint64_t base = uint64_t{1} << (10 + (descriptor >> 3));
  return base + base / 8 * (descriptor & 7);
}

size_t Checked(size_t result) {
  if (ZSTD_isError(result)) throw std::runtime_error(ZSTD_getErrorName(result));  // no memory
  return result;
}

}  // namespace

void AppendCompressed(std::string_view raw, std::string* out, Compression compression) {
  ByteWriter(out).Varint(raw.size());
  const size_t begin = out->size();
  out->resize(begin + ZSTD_compressBound(raw.size()));
  const size_t size = Checked(ZSTD_compress2(NewContext(compression).get(), out->data() + begin,
                                             out->size() - begin, raw.data(), raw.size()));
  out->resize(begin + size);
}

struct PieceCompressor::Stream {
  explicit Stream(Compression compression) : context(NewContext(compression)) {}

  Context context;
  std::string buffer = std::string(ZSTD_CStreamOutSize(), '\0');
};

PieceCompressor::PieceCompressor(Compression compression) : compression_(compression) {}
PieceCompressor::~PieceCompressor() = default;
PieceCompressor& PieceCompressor::operator=(PieceCompressor&&) noexcept = default;

void PieceCompressor::Add(std::string_view raw) {
  raw_bytes_ += raw.size();
  for (; !raw.empty(); raw.remove_prefix(std::min(raw.size(), kPieceBytes))) {
    pending_ += raw.substr(0, kPieceBytes);
    if (pending_.size() < kPieceBytes) continue;
    Compress(pending_, /*last=*/false);
    pending_.clear();
  }
}

void PieceCompressor::Compress(std::string_view raw, bool last) {
  if (stream_ == nullptr) stream_ = std::make_unique<Stream>(compression_);
  ZSTD_inBuffer input{raw.data(), raw.size(), 0};
  for (size_t left = 1; left > 0;) {
    ZSTD_outBuffer output{stream_->buffer.data(), stream_->buffer.size(), 0};
    left = Checked(ZSTD_compressStream2(stream_->context.get(), &output, &input,
                                        last ? ZSTD_e_end : ZSTD_e_continue));
    compressed_.append(stream_->buffer.data(), output.pos);
    if (!last) left = input.size - input.pos;  // the rest may stay with zstd
  }
}

void PieceCompressor::Finish(std::string* out) {
  if (stream_ == nullptr) {
    AppendCompressed(pending_, out, compression_);
  } else {
    Compress(pending_, /*last=*/true);
    out->reserve(out->size() + kMaxVarintBytes + compressed_.size());
    ByteWriter(out).Varint(raw_bytes_);
    out->append(compressed_);
  }
  *this = PieceCompressor(compression_);
}

uint64_t UncompressMemoryBytes(std::string_view bytes) {
  ByteReader in(bytes);
  in.Varint();
  return std::min(WindowBytes(in.Rest()), uint64_t{1} << kMostWindowLog) + kBlockBytes;
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
