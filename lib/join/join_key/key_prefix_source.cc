#include "lib/join/join_key/key_prefix_source.h"

#include <string>
#include <utility>

#include "lib/join/rows/packed_row.h"

namespace rocksieve::join {
namespace {

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

std::unique_ptr<Cursor> KeyPrefixSource::Scan(const KeyInterval& interval) {
  return std::make_unique<PrefixCursor>(rows_, interval, prefix_bytes_);
}

std::unique_ptr<Cursor> KeyPrefixSource::ScanAbsent() {
  return std::make_unique<ShortKeysCursor>(rows_, prefix_bytes_);
}

}  // namespace rocksieve::join
