// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/sorted_run.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "lib/format/byte_io.h"
#include "lib/format/coding.h"

namespace rocksieve::join {
namespace {

// Before each row: bytes of the key, bytes of the value, twice, plus 1 if it is the server's.
constexpr size_t kHeadBytes = 16;

}  // namespace

absl::Status RowSpool::Add(const Row& row, Side from) {
  char head[kHeadBytes];
  StoreLittleEndian64(head, row.key.size());
  StoreLittleEndian64(head + 8, 2 * row.value.size() + (from == Side::kServer ? 1 : 0));
  tail_.append(head, sizeof(head)).append(row.key).append(row.value);
  if (tail_.size() <= memory_bytes_) return absl::OkStatus();
  if (file_ == nullptr) {
    absl::StatusOr<std::unique_ptr<TemporaryFile>> file = TemporaryFile::Create(directory_);
    if (!file.ok()) return file.status();
    file_ = *std::move(file);
  }
  const absl::Status status = file_->Append(tail_);
  tail_.clear();
  return status;
}

absl::Status RowSpool::Visit(
    const std::function<absl::Status(const Row& row, Side from)>& visit) const {
  const uint64_t in_file = file_ == nullptr ? 0 : file_->bytes();
  const uint64_t end = in_file + tail_.size();
  // Rows do not straddle: each is in the file or in the tail as a whole.
  std::string buffer;
  uint64_t buffer_offset = 0;  // in the file
  const auto at = [&](uint64_t offset, uint64_t bytes, std::string_view* found) -> absl::Status {
    if (offset >= in_file) {
      *found = std::string_view(tail_).substr(offset - in_file, bytes);
      return absl::OkStatus();
    }
    if (offset < buffer_offset || offset + bytes > buffer_offset + buffer.size()) {
      buffer.resize(std::min<uint64_t>(std::max<uint64_t>(bytes, memory_bytes_), in_file - offset));
      buffer_offset = offset;
      const absl::Status status = file_->Read(offset, buffer.size(), buffer.data());
      if (!status.ok()) return status;
    }
    *found = std::string_view(buffer).substr(offset - buffer_offset, bytes);
    return absl::OkStatus();
  };
  for (uint64_t offset = 0; offset < end;) {
    std::string_view head, body;
    absl::Status status = at(offset, kHeadBytes, &head);
    if (!status.ok()) return status;
    const uint64_t key_bytes = LoadLittleEndian64(head.data());
    const uint64_t twice_value_bytes = LoadLittleEndian64(head.data() + 8);
    const uint64_t bytes = key_bytes + twice_value_bytes / 2;
    status = at(offset + kHeadBytes, bytes, &body);
    if (!status.ok()) return status;
    status = visit({body.substr(0, key_bytes), body.substr(key_bytes)},
                   twice_value_bytes % 2 != 0 ? Side::kServer : Side::kClient);
    if (!status.ok()) return status;
    offset += kHeadBytes + bytes;
  }
  return absl::OkStatus();
}

absl::Status RowSpool::Clear() {
  if (tail_.capacity() > 2 * memory_bytes_) std::string().swap(tail_);
  tail_.clear();
  return file_ == nullptr ? absl::OkStatus() : file_->Clear();
}

absl::Status SpoolingSink::Commit() {
  absl::Status status =
      rows_.Visit([this](const Row& row, Side from) { return sink_->Add(row, from); });
  if (status.ok()) status = sink_->Commit();
  return status.ok() ? rows_.Clear() : status;
}

namespace {

// Of rows; a block with a larger row is as large as that.
constexpr size_t kBlockBytes = 128 << 10;
constexpr int kCompressionLevel = 1;

absl::Status Damaged() {
  return absl::DataLossError(
      "a temporary file does not hold what was written to it: its disk is broken");
}

}  // namespace

// A block is rows, each as two strings with their lengths, in a zstd frame with a checksum.
struct SortedRunWriter::Compressor {
  Compressor() : context(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, kCompressionLevel);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  }
  ~Compressor() { ZSTD_freeCCtx(context); }
  ZSTD_CCtx* const context;
};

SortedRunWriter::SortedRunWriter()
    : run_(std::make_unique<SortedRun>()), compressor_(std::make_unique<Compressor>()) {}

SortedRunWriter::~SortedRunWriter() = default;

absl::StatusOr<std::unique_ptr<SortedRunWriter>> SortedRunWriter::Create(
    const std::string& directory) {
  absl::StatusOr<std::unique_ptr<TemporaryFile>> file = TemporaryFile::Create(directory);
  if (!file.ok()) return file.status();
  std::unique_ptr<SortedRunWriter> writer(new SortedRunWriter);
  writer->run_->file_ = *std::move(file);
  return writer;
}

absl::Status SortedRunWriter::Add(const Row& row) {
  if (run_->keys_ == 0 || row.key != last_key_) {
    run_->keys_++;
    last_key_ = row.key;
  }
  if (raw_.empty()) first_key_ = row.key;
  ByteWriter out(&raw_);
  out.String(row.key);
  out.String(row.value);
  return raw_.size() < kBlockBytes ? absl::OkStatus() : FinishBlock();
}

absl::Status SortedRunWriter::FinishBlock() {
  if (raw_.empty()) return absl::OkStatus();
  packed_.resize(ZSTD_compressBound(raw_.size()));
  const size_t size = ZSTD_compress2(compressor_->context, packed_.data(), packed_.size(),
                                     raw_.data(), raw_.size());
  if (ZSTD_isError(size)) return absl::ResourceExhaustedError(ZSTD_getErrorName(size));
  run_->blocks_.push_back({std::move(first_key_), run_->file_->bytes(), size, raw_.size()});
  run_->largest_block_bytes_ = std::max<uint64_t>(run_->largest_block_bytes_, raw_.size());
  raw_.clear();
  return run_->file_->Append({packed_.data(), size});
}

absl::StatusOr<std::unique_ptr<SortedRun>> SortedRunWriter::Finish() {
  const absl::Status status = FinishBlock();
  if (!status.ok()) return status;
  return std::move(run_);
}

class SortedRun::BlockCursor final : public Cursor {
 public:
  BlockCursor(const SortedRun* run, const KeyInterval& interval) : run_(run), interval_(interval) {
    const auto after = std::lower_bound(
        run->blocks_.begin(), run->blocks_.end(), interval.begin,
        [](const Block& block, const std::string& key) { return block.first_key < key; });
    // Rows of the first key may begin in the block before.
    next_ = static_cast<size_t>(after - run->blocks_.begin());
    if (next_ > 0) next_--;
  }

  bool Next(Row* row) override {
    for (;;) {
      if (rest_.remaining() == 0 && !ReadBlock()) return false;
      row->key = rest_.String();
      row->value = rest_.String();
      if (!rest_.ok()) status_ = Damaged();
      if (!status_.ok() || (interval_.end && row->key >= *interval_.end)) return End();
      if (row->key >= interval_.begin) return true;
    }
  }
  absl::Status status() const override { return status_; }

 private:
  bool End() {
    rest_ = ByteReader("");
    next_ = run_->blocks_.size();
    return false;
  }

  bool ReadBlock() {
    if (next_ == run_->blocks_.size()) return false;
    const Block& block = run_->blocks_[next_++];
    packed_.resize(block.packed_bytes);
    raw_.resize(block.raw_bytes);
    status_ = run_->file_->Read(block.offset, packed_.size(), packed_.data());
    if (status_.ok() &&
        ZSTD_decompress(raw_.data(), raw_.size(), packed_.data(), packed_.size()) != raw_.size()) {
      status_ = Damaged();
    }
    if (!status_.ok()) return End();
    rest_ = ByteReader(raw_);
    return true;
  }

  const SortedRun* const run_;
  const KeyInterval interval_;
  size_t next_ = 0;  // block
  std::string packed_, raw_;
  ByteReader rest_{""};
  absl::Status status_;
};

std::unique_ptr<Cursor> SortedRun::Scan(const KeyInterval& interval) {
  return std::make_unique<BlockCursor>(this, interval);
}

}  // namespace rocksieve::join
