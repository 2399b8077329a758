// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/heard_bounds.h"

#include <cstddef>

#include "plugin/range/range_counts.h"

namespace rocksieve {
namespace {

constexpr size_t kSeekMarks = (1 << 20) - 1;

// Addresses only, for all threads: nobody reads or writes here, so it takes no memory. The last one
// is that of bounds.
char marks[kSeekMarks + 1];

rocksdb::Slice SeekMark(uint64_t serial) { return rocksdb::Slice(&marks[serial % kSeekMarks], 0); }

}  // namespace

HeardBounds& HeardBounds::OfThisThread() {
  static thread_local HeardBounds heard;
  return heard;
}

void HeardBounds::InDomain(const void* extractor, const rocksdb::Slice& key) {
  const bool is_bound = state_ == State::kSeek && extractor_ == extractor;
  state_ = is_bound ? State::kAskedBound : State::kAskedSeek;
  extractor_ = extractor;
  asked_ = &key;
}

rocksdb::Slice HeardBounds::Transform(const void* extractor, const rocksdb::Slice& key) {
  const bool was_asked = extractor_ == extractor && asked_ == &key;
  asked_ = nullptr;
  if (was_asked && state_ == State::kAskedBound) {
    end_ = {key.data(), key.size()};
    state_ = State::kBound;
    RangeCounts::Count(RangeEvent::kBound);
    return rocksdb::Slice(&marks[kSeekMarks], 0);
  }
  begin_ = {key.data(), key.size()};
  state_ = was_asked && state_ == State::kAskedSeek ? State::kSeek : State::kNothing;
  serial_++;
  RangeCounts::Count(RangeEvent::kSeek);
  return SeekMark(serial_);
}

bool HeardBounds::Take(const rocksdb::Slice& entry, std::string_view* begin,
                       std::string_view* end) {
  const bool is_mine =
      state_ == State::kBound && entry.size() == 0 && entry.data() == SeekMark(serial_).data();
  state_ = State::kNothing;
  if (!is_mine) return false;
  *begin = begin_;
  *end = end_;
  return true;
}

}  // namespace rocksieve
