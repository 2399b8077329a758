// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/scan_stream.h"

#include <limits>
#include <utility>

#include "lib/arrow/export.h"
#include "lib/hash/key_hash.h"
#include "plugin/join/comparable_value.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

// As Get() has it: of wide columns the default one.
std::string_view PlainValue(std::string_view comparable) {
  ReadableValue value;
  if (!ReadComparableValue(comparable, &value)) return comparable;
  for (const auto& [name, bytes] : value.columns) {
    if (name.empty()) return bytes;
  }
  return value.plain;
}

// Where filters let few rows pass, a batch comes after so many.
constexpr uint64_t kRowsBetweenBatches = uint64_t{1} << 24;

}  // namespace

// A batch's column while it grows.
class BinaryColumn {
 public:
  // A part of a batch must not be larger: Arrow's offsets have 32 bits.
  static constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

  size_t bytes() const { return data_.size(); }
  void Add(std::string_view value) {
    data_.append(value);
    offsets_.push_back(static_cast<int32_t>(data_.size()));
  }
  void AddNull() {
    const size_t row = offsets_.size() - 1;
    validity_.resize(row / 8 + 1, 0xff);
    validity_[row / 8] = static_cast<uint8_t>(validity_[row / 8] & ~(1u << (row % 8)));
    nulls_++;
    Add("");
  }
  // No row is added after it.
  arrow::Column Finish() {
    const size_t rows = offsets_.size() - 1;
    if (nulls_ > 0) validity_.resize((rows + 7) / 8, 0xff);
    return {.length = static_cast<int64_t>(rows),
            .null_count = nulls_,
            .buffers = {nulls_ > 0 ? validity_.data() : nullptr, offsets_.data(), data_.data()}};
  }

 private:
  std::vector<int32_t> offsets_ = {0};
  std::string data_;
  std::vector<uint8_t> validity_;
  int64_t nulls_ = 0;
};

struct ScanStream::Batch {
  explicit Batch(size_t count) : columns(count) {}

  std::vector<BinaryColumn> columns;
  size_t rows = 0, bytes = 0;
};

ScanStream::ScanStream(ScanPlan plan, OpenedInput opened, std::shared_ptr<ScanCounts> counts)
    : plan_(std::move(plan)),
      opened_(std::move(opened)),
      counts_(std::move(counts)),
      cursor_(opened_.sources.front()->Scan(plan_.interval)) {
  counts_->rows_estimated = opened_.sources.front()->EstimateKeys();
}

void ScanStream::GiveSchema(ArrowSchema* out) const {
  arrow::Field rows{.format = "+s"};
  for (const ScanColumn column : plan_.columns) {
    rows.children.push_back({.format = "z",
                             .name = std::string(kScanColumnNames[static_cast<size_t>(column)]),
                             .nullable = column == ScanColumn::kJoinKey});
  }
  arrow::Export(rows, out);
}

Status ScanStream::GiveNext(ArrowArray* out) {
  *out = {};
  if (!status_.ok() || ended_) return status_;
  // What throws in the middle loses rows: nothing may follow it.
  status_ = Status::Aborted(plan_.name + ": the scan ended early, for lack of memory");
  const auto batch = std::make_shared<Batch>(plan_.columns.size());
  const Status filled = Fill(batch.get());
  counts_->digest = digest_;
  if (!filled.ok() || (ended_ && batch->rows == 0)) return status_ = filled;
  arrow::Column rows{.length = static_cast<int64_t>(batch->rows), .buffers = {nullptr}};
  for (BinaryColumn& column : batch->columns) rows.children.push_back(column.Finish());
  arrow::Export(rows, batch, out);
  return status_ = filled;
}

Status ScanStream::Fill(Batch* batch) {
  const bool by_key = plan_.on.is_whole_key();
  uint64_t read = 0;
  Status status;
  Row row;
  while (status.ok() && batch->rows < plan_.batch_rows && batch->bytes < plan_.batch_bytes &&
         read < kRowsBetweenBatches) {
    if (counts_->rows_read + read == plan_.most_rows || !cursor_->Next(&row)) {
      status = End();
      break;
    }
    read++;
    const bool has_key = by_key || plan_.on.Extract(row, &extracted_);
    const std::string_view join_key = by_key ? row.key : extracted_;
    // By itself where it is the key; else a row that has another one now would not show.
    const uint64_t salt = by_key ? kDefaultSalt : HashKey(row.key, kDefaultSalt);
    if (has_key) digest_ += HashKey(join_key, salt);
    const std::string_view* const key = has_key ? &join_key : nullptr;
    if (!Keeps(key)) continue;
    if (plan_.on.is_whole_row()) row.value = PlainValue(row.value);  // the join key has all columns
    status = Add(row, key, batch);
  }
  counts_->rows_read += read;
  counts_->rows_given += batch->rows;
  return status;
}

bool ScanStream::Keeps(const std::string_view* join_key) const {
  if (plan_.filters.empty()) return true;
  bool maybe = false;
  for (size_t i = 0; join_key != nullptr && !maybe && i < plan_.filters.size(); i++) {
    maybe = plan_.filters[i](*join_key);
  }
  return maybe != plan_.keep_absent;
}

Status ScanStream::Add(const Row& row, const std::string_view* join_key, Batch* batch) const {
  for (size_t i = 0; i < batch->columns.size(); i++) {
    BinaryColumn& column = batch->columns[i];
    const ScanColumn what = plan_.columns[i];
    std::string_view part = what == ScanColumn::kKey ? row.key : row.value;
    if (what == ScanColumn::kJoinKey) {
      if (join_key == nullptr) {
        column.AddNull();
        continue;
      }
      part = *join_key;
    }
    if (part.size() > BinaryColumn::kMostBytes - column.bytes()) {
      return Status::NotSupported(plan_.name + ": a row is larger than an array of Arrow, 2 GiB");
    }
    column.Add(part);
    batch->bytes += part.size();
  }
  batch->rows++;
  return Status::OK();
}

Status ScanStream::End() {
  ended_ = true;
  const absl::Status status = cursor_->status();
  if (!status.ok()) return Status::Corruption(plan_.name + ": " + std::string(status.message()));
  if (plan_.expected_digest.value_or(digest_) != digest_) {
    return Status::Aborted(plan_.name +
                           ": its keys are not those of an earlier scan: it was written to");
  }
  return Status::OK();
}

}  // namespace rocksieve::join
