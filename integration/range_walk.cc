// SPDX-License-Identifier: Apache-2.0
#include "integration/range_walk.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace rocksieve {
namespace {

using rocksdb::Slice;

void AppendBigEndian(uint64_t number, std::string* key) {
  for (int shift = 56; shift >= 0; shift -= 8) key->push_back(static_cast<char>(number >> shift));
}

}  // namespace

std::string RandomKey(KeyKind kind, Random* random) {
  std::string key;
  switch (kind) {
    case KeyKind::kEntityAndTime:
      AppendBigEndian((*random)() % 40 * 0x9e3779b97f4a7c15, &key);
      AppendBigEndian((*random)() % 400, &key);
      break;
    case KeyKind::kPath:
      key = "user/" + std::to_string((*random)() % 90) + "/" + std::to_string((*random)() % 100);
      break;
    case KeyKind::kOddBytes:
      for (uint64_t left = (*random)() % 10; left > 0; left--) {
        key.push_back(std::string("\0\1a\xff", 4)[(*random)() % 4]);
      }
      break;
    case KeyKind::kNumber:
      AppendBigEndian((*random)() % 6000, &key);
      break;
  }
  return key;
}

void Tally::Wrong(const std::string& what, const rocksdb::ReadOptions& read) {
  constexpr uint64_t kMostPrinted = 8;
  if (wrong++ >= kMostPrinted) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::printf(
      "WRONG: %s; auto_prefix_mode %d total_order_seek %d prefix_same_as_start %d "
      "tailing %d upper bound %d lower bound %d\n",
      what.c_str(), read.auto_prefix_mode, read.total_order_seek, read.prefix_same_as_start,
      read.tailing, read.iterate_upper_bound != nullptr, read.iterate_lower_bound != nullptr);
}

Walk::Walk(rocksdb::DB* db, KeyKind kind, const std::vector<State>& states, bool may_tail,
           bool any_order, char* buffer, Random* random, Tally* tally)
    : kind_(kind), buffer_(buffer), random_(*random), tally_(*tally) {
  const State& state = states[random_() % states.size()];
  rows_ = &state.rows;
  read_.snapshot = state.snapshot;
  read_.auto_prefix_mode = random_() % 2 == 0;
  read_.total_order_seek = random_() % 6 == 0 || !any_order;
  read_.prefix_same_as_start = random_() % 5 == 0 && any_order;
  read_.pin_data = random_() % 8 == 0;
  read_.readahead_size = random_() % 6 == 0 ? 4096 : 0;
  read_.fill_cache = random_() % 2 == 0;
  read_.adaptive_readahead = random_() % 5 == 0;
  read_.tailing = may_tail && &state == &states.back() && random_() % 4 == 0;
  has_upper_ = random_() % 8 != 0;
  has_lower_ = !read_.tailing && random_() % 4 == 0;
  moves_bounds_ = !read_.tailing && random_() % 2 == 0;
  MoveBounds();
  if (has_upper_) read_.iterate_upper_bound = &upper_slice_;
  if (has_lower_) read_.iterate_lower_bound = &lower_slice_;
  iterator_.reset(db->NewIterator(read_));
}

void Walk::Step() {
  switch (random_() % 10) {
    default:
      return Seek();
    case 4:
      return read_.tailing ? Seek() : SeekForPrev();
    case 5:
      return read_.tailing ? Seek() : SeekToLast();
    case 6:
      iterator_->SeekToFirst();
      return StandsAt(First(), "SeekToFirst");
    case 7:
      return Move(/*both_ways=*/false);
    case 8:
      return read_.tailing ? Seek() : Move(/*both_ways=*/true);
    case 9:
      if (read_.tailing || read_.snapshot != nullptr || !iterator_->Refresh().ok()) return Seek();
      iterator_->SeekToFirst();
      return StandsAt(First(), "Refresh");
  }
}

// The upper bound at the beginning of the buffer, the lower behind it, changed in place.
void Walk::MoveBounds() {
  lower_ = RandomKey(kind_, &random_);
  upper_ = random_() % 3 != 0 ? RandomKey(kind_, &random_) : lower_;
  if (random_() % 2 == 0) {
    upper_ = lower_;
    if (random_() % 2 == 0 || upper_.empty() || upper_.back() == '\xff') {
      upper_.push_back(static_cast<char>(random_() % 4));
    } else {
      upper_.back()++;
    }
  }
  if (lower_ > upper_) std::swap(lower_, upper_);
  std::memcpy(buffer_, upper_.data(), upper_.size());
  upper_slice_ = Slice(buffer_, upper_.size());
  std::memcpy(buffer_ + kBoundBytes, lower_.data(), lower_.size());
  lower_slice_ = Slice(buffer_ + kBoundBytes, lower_.size());
}

bool Walk::IsInBounds(Place place) const {
  return place != rows_->end() && (!has_upper_ || place->first < upper_) &&
         (!has_lower_ || place->first >= lower_);
}

void Walk::Seek() {
  if (moves_bounds_ && random_() % 2 == 0) MoveBounds();
  std::string key = random_() % 2 == 0 ? lower_ : RandomKey(kind_, &random_);
  if (random_() % 4 == 0 && valid_) key = place_->first + '\0';
  char* const seek_buffer = buffer_ + 2 * kBoundBytes;
  Slice target(key);
  if (random_() % 3 == 0) {
    // In the very buffer of the bound.
    if (has_upper_ && random_() % 2 == 0) {
      target = Slice(buffer_, std::min<size_t>(upper_.size(), random_() % 20));
    }
  } else {
    std::memcpy(seek_buffer, key.data(), key.size());
    target = Slice(seek_buffer, key.size());
  }
  const std::string sought = target.ToString();
  iterator_->Seek(target);
  std::memset(seek_buffer, 'x', kBoundBytes);
  StandsAt(rows_->lower_bound(has_lower_ ? std::max(sought, lower_) : sought), "Seek");
}

void Walk::SeekForPrev() {
  const std::string key = RandomKey(kind_, &random_);
  iterator_->SeekForPrev(key);
  Place place = rows_->upper_bound(key);
  if (has_upper_ && key >= upper_) place = End();
  StandsBefore(place, "SeekForPrev");
}

void Walk::SeekToLast() {
  iterator_->SeekToLast();
  StandsBefore(End(), "SeekToLast");
}

void Walk::Move(bool both_ways) {
  for (uint64_t left = 1 + random_() % 12; left > 0 && iterator_->Valid() && valid_; left--) {
    if (!both_ways || random_() % 4 == 0) {
      iterator_->Next();
      StandsAt(std::next(place_), "Next");
    } else {
      iterator_->Prev();
      StandsBefore(place_, "Prev");
    }
  }
}

void Walk::StandsBefore(Place place, const char* after) {
  StandsAt(place == rows_->begin() ? rows_->end() : std::prev(place), after);
}

void Walk::StandsAt(Place place, const char* after) {
  place_ = place;
  valid_ = IsInBounds(place);
  tally_.operations++;
  const std::string said = std::string(" after ") + after;
  std::string wrong;
  if (!iterator_->status().ok()) {
    wrong = iterator_->status().ToString();
  } else if (iterator_->Valid() != valid_) {
    wrong = valid_ ? "a lost row" : "a row too many";
    valid_ = false;
  } else if (valid_ && (iterator_->key() != place->first || iterator_->value() != place->second)) {
    wrong = "another row";
  }
  if (wrong.empty()) return;
  // Without an upper bound no filter is asked, and tailing iterators of RocksDB err by themselves
  // once in millions of seeks (7.8.3 and 10.5.1 did).
  if (read_.tailing && !has_upper_) {
    tally_.wrong_without++;
  } else {
    tally_.Wrong(wrong + said, read_);
  }
}

}  // namespace rocksieve
