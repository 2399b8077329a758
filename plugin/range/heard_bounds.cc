// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/heard_bounds.h"

namespace rocksieve {

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
    return rocksdb::Slice(&marks_[kSeekMarks], 0);
  }
  begin_ = {key.data(), key.size()};
  state_ = was_asked && state_ == State::kAskedSeek ? State::kSeek : State::kNothing;
  serial_++;
  return rocksdb::Slice(&marks_[serial_ % kSeekMarks], 0);
}

bool HeardBounds::Take(const rocksdb::Slice& entry, std::string_view* begin,
                       std::string_view* end) {
  const bool is_mine =
      state_ == State::kBound && entry.size() == 0 && entry.data() == &marks_[serial_ % kSeekMarks];
  state_ = State::kNothing;
  if (!is_mine) return false;
  *begin = begin_;
  *end = end_;
  return true;
}

}  // namespace rocksieve
