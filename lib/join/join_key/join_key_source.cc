// SPDX-License-Identifier: Apache-2.0
#include "lib/join/join_key/join_key_source.h"

#include <string>
#include <utility>

#include "lib/join/rows/packed_row.h"

namespace rocksieve::join {
namespace {

// All rows are sorted together: the key of one with a NULL key is this byte, that of another one
// the other byte and its join key.
constexpr char kAbsent = 0, kPresent = 1;

class WithoutFirstByte final : public Cursor {
 public:
  explicit WithoutFirstByte(std::unique_ptr<Cursor> cursor) : cursor_(std::move(cursor)) {}
  bool Next(Row* row) override {
    if (!cursor_->Next(row)) return false;
    row->key.remove_prefix(1);
    return true;
  }
  absl::Status status() const override { return cursor_->status(); }

 private:
  const std::unique_ptr<Cursor> cursor_;
};

class PrefixCursor final : public Cursor {
 public:
  // Of a prefix in the interval, all keys are at least as large as its beginning; its end may lie
  // below keys whose prefix is in it.
  PrefixCursor(Source* rows, KeyInterval interval, size_t prefix_bytes)
      : interval_(std::move(interval)),
        prefix_bytes_(prefix_bytes),
        cursor_(rows->Scan({interval_.begin, std::nullopt})) {}

  bool Next(Row* row) override {
    Row whole;
    while (!ended_ && cursor_->Next(&whole)) {
      if (whole.key.size() < prefix_bytes_) continue;
      const std::string_view prefix = whole.key.substr(0, prefix_bytes_);
      if (prefix < interval_.begin) continue;
      ended_ = interval_.end && prefix >= *interval_.end;
      if (ended_) return false;
      PackRow(whole, &packed_);
      *row = {prefix, packed_};
      return true;
    }
    ended_ = true;
    return false;
  }
  absl::Status status() const override { return cursor_->status(); }

 private:
  const KeyInterval interval_;
  const size_t prefix_bytes_;
  const std::unique_ptr<Cursor> cursor_;
  std::string packed_;
  bool ended_ = false;
};

class ShortKeysCursor final : public Cursor {
 public:
  ShortKeysCursor(Source* rows, size_t prefix_bytes)
      : prefix_bytes_(prefix_bytes), cursor_(rows->Scan({})) {}
  bool Next(Row* row) override {
    Row whole;
    while (cursor_->Next(&whole)) {
      if (whole.key.size() >= prefix_bytes_) continue;
      PackRow(whole, &packed_);
      *row = {std::string_view(), packed_};
      return true;
    }
    return false;
  }
  absl::Status status() const override { return cursor_->status(); }

 private:
  const size_t prefix_bytes_;
  const std::unique_ptr<Cursor> cursor_;
  std::string packed_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<JoinKeySource>> JoinKeySource::Sort(
    Source* rows, const JoinKeyExpression& expression, const SortOptions& options) {
  RowSorter sorter(options);
  bool any_absent = false;
  const std::unique_ptr<Cursor> cursor = rows->Scan({});
  Row row;
  std::string extracted, key, packed;
  while (cursor->Next(&row)) {
    const bool present = expression.Extract(row, &extracted);
    key.assign(1, present ? kPresent : kAbsent);
    if (present) key.append(extracted);
    any_absent |= !present;
    PackRow(row, &packed);
    const absl::Status status = sorter.Add({key, packed});
    if (!status.ok()) return status;
  }
  if (!cursor->status().ok()) return cursor->status();
  absl::StatusOr<std::unique_ptr<Source>> sorted = sorter.Finish();
  if (!sorted.ok()) return sorted.status();
  return std::unique_ptr<JoinKeySource>(new JoinKeySource(*std::move(sorted), any_absent));
}

JoinKeySource::JoinKeySource(std::unique_ptr<Source> sorted, bool any_absent)
    : sorted_(std::move(sorted)),
      any_absent_(any_absent),
      keys_(sorted_->EstimateKeys() - (any_absent ? 1 : 0)) {}

std::unique_ptr<Cursor> JoinKeySource::Scan(const KeyInterval& interval) {
  KeyInterval present{kPresent + interval.begin, std::nullopt};
  if (interval.end) present.end = kPresent + *interval.end;
  return std::make_unique<WithoutFirstByte>(sorted_->Scan(present));
}

std::unique_ptr<Cursor> JoinKeySource::ScanAbsent() {
  if (!any_absent_) return nullptr;
  return std::make_unique<WithoutFirstByte>(sorted_->Scan({"", std::string(1, kPresent)}));
}

std::unique_ptr<Cursor> KeyPrefixSource::Scan(const KeyInterval& interval) {
  return std::make_unique<PrefixCursor>(rows_.get(), interval, prefix_bytes_);
}

std::unique_ptr<Cursor> KeyPrefixSource::ScanAbsent() {
  return std::make_unique<ShortKeysCursor>(rows_.get(), prefix_bytes_);
}

}  // namespace rocksieve::join
