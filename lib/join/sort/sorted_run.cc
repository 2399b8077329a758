// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/sorted_run.h"

#include <zstd.h>

#include <algorithm>
#include <utility>

#include "lib/format/byte_io.h"

namespace rocksieve::join {
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
