#include "lib/join/rows/memory_source.h"

#include <algorithm>

namespace rocksieve::join {
namespace {

using Rows = MemorySource::Rows;

class MemoryCursor final : public Cursor {
 public:
  MemoryCursor(Rows::const_iterator begin, Rows::const_iterator end) : next_(begin), end_(end) {}
  bool Next(Row* row) override {
    if (next_ == end_) return false;
    *row = {next_->first, next_->second};
    ++next_;
    return true;
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  Rows::const_iterator next_;
  const Rows::const_iterator end_;
};

bool KeyIsLess(const Rows::value_type& a, const Rows::value_type& b) { return a.first < b.first; }

}  // namespace

MemorySource::MemorySource(Rows rows) : rows_(std::move(rows)) {
  std::stable_sort(rows_.begin(), rows_.end(), KeyIsLess);
}

std::unique_ptr<Cursor> MemorySource::Scan(const KeyInterval& interval) {
  auto first_not_below = [this](const std::string& key) {
    return std::lower_bound(rows_.cbegin(), rows_.cend(), Rows::value_type(key, ""), KeyIsLess);
  };
  return std::make_unique<MemoryCursor>(
      first_not_below(interval.begin),
      interval.end ? first_not_below(*interval.end) : rows_.cend());
}

}  // namespace rocksieve::join
