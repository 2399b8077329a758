// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/range_counts.h"

namespace rocksieve {

std::array<RangeCounts::Line, 64> RangeCounts::lines_;

RangeCounts::Counts& RangeCounts::OfThisThread() {
  static std::atomic<size_t> threads{0};
  static thread_local Counts* counts = nullptr;
  if (counts == nullptr) {
    counts = &lines_[threads.fetch_add(1, std::memory_order_relaxed) % lines_.size()].counts;
  }
  return *counts;
}

uint64_t RangeCounts::Sum(RangeEvent event) {
  uint64_t sum = 0;
  for (const Line& line : lines_) {
    sum += line.counts[static_cast<size_t>(event)].load(std::memory_order_relaxed);
  }
  return sum;
}

RangeQueries RangeCounts::Read() {
  RangeQueries queries;
  // Seeks last, so that no more have a bound than there are.
  queries.negatives = Sum(RangeEvent::kNegative);
  queries.positives = Sum(RangeEvent::kPositive);
  queries.not_proven = Sum(RangeEvent::kNotProven);
  queries.other_order = Sum(RangeEvent::kOtherOrder);
  queries.begins_at_end = Sum(RangeEvent::kBeginsAtEnd);
  queries.bounded_seeks = Sum(RangeEvent::kBound);
  queries.seeks = Sum(RangeEvent::kSeek);
  return queries;
}

}  // namespace rocksieve
