// SPDX-License-Identifier: Apache-2.0
#include "lib/join/rows/row_batch.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>
#include <stdexcept>

#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

namespace {

constexpr size_t kPieceBytes = 1 << 20;
constexpr int kMostWindowLog = 23;  // what AppendCompressed() makes needs no more
// Of zstd's buffers and tables beside the window: three blocks of 128 KiB, and ours.
constexpr uint64_t kBlockBytes = 640 << 10;

ZstdContext NewContext(Compression compression) {
  constexpr int kDenseLevel = 3, kQuickLevel = -20;
  return NewZstdContext(compression == Compression::kDense ? kDenseLevel : kQuickLevel);
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

void ZstdFree::operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }

ZstdContext NewZstdContext(int level) {
  ZstdContext context(ZSTD_createCCtx());
  if (context == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  return context;
}

void AppendCompressed(std::string_view raw, std::string* out, Compression compression) {
  ByteWriter(out).Varint(raw.size());
  const size_t begin = out->size();
  out->resize(begin + ZSTD_compressBound(raw.size()));
  const size_t size = Checked(ZSTD_compress2(NewContext(compression).get(), out->data() + begin,
                                             out->size() - begin, raw.data(), raw.size()));
  out->resize(begin + size);
}

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
  if (context_ == nullptr) {
    context_ = NewContext(compression_);
    buffer_.resize(ZSTD_CStreamOutSize());
  }
  ZSTD_inBuffer input{raw.data(), raw.size(), 0};
  for (size_t left = 1; left > 0;) {
    ZSTD_outBuffer output{buffer_.data(), buffer_.size(), 0};
    left = Checked(
        ZSTD_compressStream2(context_.get(), &output, &input, last ? ZSTD_e_end : ZSTD_e_continue));
    compressed_.append(buffer_.data(), output.pos);
    if (!last) left = input.size - input.pos;  // the rest may stay with zstd
  }
}

void PieceCompressor::Finish(std::string* out) {
  if (context_ == nullptr) {
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

void PackRow(const Row& row, std::string* packed) {
  packed->clear();
  ByteWriter out(packed);
  out.String(row.key);
  out.Bytes(row.value);
}

bool UnpackRow(std::string_view packed, Row* row) {
  ByteReader in(packed);
  row->key = in.String();
  row->value = in.Rest();
  return in.ok();
}

namespace {

// With what each key shares with the one before: what has to be hashed.
constexpr uint64_t kMostListedBytes = uint64_t{1} << 32;

constexpr size_t kMostHeadBytes = 2 * kMaxVarintBytes;  // of an entry, before the key's bytes

// Takes a list as it is unpacked.
class ListParser {
 public:
  using Visit = std::function<void(std::optional<std::string_view> key)>;

  ListParser(uint64_t most_keys, uint64_t longest_key_bytes, const Visit& visit)
      : most_keys_(most_keys), longest_(longest_key_bytes), visit_(visit) {}

  // False if it is none.
  bool Take(std::string_view piece) {
    while (!piece.empty() || EndsKey()) {
      if (EndsKey()) {
        in_key_ = false;
        if (++keys_ > most_keys_ || (listed_bytes_ += key_bytes_) > kMostListedBytes) return false;
        visit_(key_bytes_ <= longest_ ? std::optional<std::string_view>(key_) : std::nullopt);
      } else if (in_key_) {
        const uint64_t bytes = std::min<uint64_t>(missing_, piece.size());
        key_.append(piece.substr(0, std::min<uint64_t>(bytes, longest_ - key_.size())));
        missing_ -= bytes;
        piece.remove_prefix(bytes);
      } else if (!TakeHead(&piece)) {
        return false;
      }
    }
    return true;
  }

  bool between_keys() const { return !in_key_ && head_.empty(); }

 private:
  bool EndsKey() const { return in_key_ && missing_ == 0; }

  // The lengths, or what there is of them.
  bool TakeHead(std::string_view* piece) {
    const size_t had = head_.size();
    head_ += piece->substr(0, kMostHeadBytes - had);
    ByteReader in(head_);
    const uint64_t shared = in.Varint(key_bytes_);
    missing_ = in.Varint(kMostKeyBytes);
    if (!in.ok()) {  // the rest is in the next piece; or never comes
      piece->remove_prefix(head_.size() - had);
      return head_.size() < kMostHeadBytes;
    }
    piece->remove_prefix(head_.size() - in.remaining() - had);
    head_.clear();
    key_bytes_ = shared + missing_;
    // What is cut off of a key is never of one that is not cut off: that shares less.
    key_.resize(std::min(shared, longest_));
    in_key_ = true;
    return true;
  }

  const uint64_t most_keys_, longest_;
  const Visit& visit_;
  std::string head_;  // the beginning of an entry
  std::string key_;   // its first bytes, at most the longest
  uint64_t key_bytes_ = 0, missing_ = 0;
  uint64_t keys_ = 0, listed_bytes_ = 0;
  bool in_key_ = false;
};

size_t SharedBytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

}  // namespace

void KeyListWriter::Add(std::string_view key) {
  const size_t shared = SharedBytes(key, last_);
  std::string head;
  ByteWriter out(&head);
  out.Varint(shared);
  out.Varint(key.size() - shared);
  compressor_.Add(head);
  compressor_.Add(key.substr(shared));
  last_.resize(shared);
  last_.append(key.substr(shared));
}

void KeyListWriter::Finish(std::string* out) {
  compressor_.Finish(out);
  last_.clear();
}

absl::Status ReadKeyList(std::string_view bytes, uint64_t most_keys, uint64_t longest_key_bytes,
                         const std::function<void(std::optional<std::string_view> key)>& visit) {
  ListParser parser(most_keys, longest_key_bytes, visit);
  const bool read = UncompressPieces(
      bytes, UINT64_MAX, [&parser](std::string_view piece) { return parser.Take(piece); });
  if (!read || !parser.between_keys()) {
    return absl::InvalidArgumentError("a list of keys is damaged");
  }
  return absl::OkStatus();
}

namespace {

constexpr char kWhat[] = "a row";

}  // namespace

void RowBatchWriter::Add(const Row& row) {
  rows_++;
  const bool new_key = !any_ || row.key != last_key_;
  ByteWriter out(&raw_);
  out.Varint(2 * row.value.size() + (new_key ? 1 : 0));
  if (new_key) {
    const size_t shared = SharedBytes(row.key, last_key_);
    if (with_keys_) {
      out.Varint(shared);
      out.String(row.key.substr(shared));
    }
    last_key_.resize(shared);
    last_key_.append(row.key.substr(shared));
  }
  any_ = true;
  out.Bytes(row.value);
}

void RowBatchWriter::AddKnown(std::string_view value) {
  rows_++;
  ByteWriter out(&raw_);
  out.Varint(2 * value.size());
  out.Bytes(value);
}

void RowBatchWriter::TakeBatch(std::string* out) {
  const std::string_view batch = std::string_view(raw_).substr(taken_, kRowBatchBytes);
  AppendCompressed(batch, out);
  taken_ += batch.size();
  // What was taken is dropped at the latest when it is half of the buffer: linear in total.
  if (taken_ * 2 >= raw_.size()) {
    raw_.erase(0, taken_);
    taken_ = 0;
    if (raw_.capacity() > 4 * (raw_.size() + kRowBatchBytes)) raw_.shrink_to_fit();
  }
}

absl::Status RowBatchReader::Read(
    std::string_view batch,
    const std::function<absl::Status(const Row& row, bool new_key)>& visit) {
  std::string raw;
  if (!Uncompress(batch, kRowBatchBytes, &raw)) {
    return absl::InvalidArgumentError("the other side sent rows that cannot be unpacked");
  }
  RETURN_IF_ERROR(MakeRoom(raw.size()));
  rest_ += raw;
  row_bytes_ = 0;
  size_t taken = 0;
  while (taken < rest_.size()) {
    ByteReader in(std::string_view(rest_).substr(taken));
    const uint64_t head = in.Varint();
    const bool new_key = head % 2 != 0;
    if (in.ok() && !any_ && !new_key) {
      return absl::InvalidArgumentError("the other side sent damaged rows");
    }
    const auto too_large = [this] {
      return absl::ResourceExhaustedError(
          absl::StrCat("the other side sends a row of more than the ", most_row_bytes_,
                       " bytes that are allowed: allow more (--largest-row)"));
    };
    const size_t rest_bytes = rest_.size() - taken;
    if (head / 2 > most_row_bytes_ ||
        rest_bytes - std::min(rest_bytes, kRowBatchBytes) > most_row_bytes_) {
      return too_large();
    }
    uint64_t shared = 0;
    std::string_view more;
    if (new_key && with_keys_) {
      shared = in.Varint(last_key_.size());
      more = in.String(kMostKeyBytes);
    }
    const std::string_view value = in.Bytes(head / 2);
    if (!in.ok()) {  // the rest is in the next batch; or never comes
      row_bytes_ = head / 2 + shared + kRowBatchBytes;
      break;
    }
    if (new_key && with_keys_) {
      // Each key may have what the one before had, and more.
      if (shared + more.size() > most_row_bytes_) return too_large();
      last_key_.resize(shared);
      last_key_.append(more);
    }
    any_ = true;
    taken = rest_.size() - in.remaining();
    RETURN_IF_ERROR(visit({last_key_, value}, new_key));
  }
  rest_.erase(0, taken);
  if (rest_.capacity() > 4 * (rest_.size() + kRowBatchBytes)) rest_.shrink_to_fit();
  return memory_.Resize(rest_.capacity(), kWhat);
}

// Doubles, as strings do, but to no more than what the row takes, and only once half of that is
// there: the other side says how much it is.
absl::Status RowBatchReader::MakeRoom(uint64_t more_bytes) {
  const uint64_t needed = rest_.size() + more_bytes;
  if (needed <= rest_.capacity()) return absl::OkStatus();
  uint64_t wanted = std::max<uint64_t>(2 * rest_.capacity(), needed);
  if (row_bytes_ > needed) wanted = std::min(wanted, row_bytes_ + kRowBatchBytes);
  // Both while they are copied.
  RETURN_IF_ERROR(memory_.Resize(rest_.capacity() + wanted, kWhat));
  rest_.reserve(wanted);
  return memory_.Resize(rest_.capacity(), kWhat);
}

}  // namespace rocksieve::join
