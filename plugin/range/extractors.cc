// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/extractors.h"

#include <cstddef>
#include <utility>

namespace rocksieve {
namespace {

constexpr uint32_t kOneIn = 16;
constexpr uint64_t kLeastSamples = 64, kMostSamples = 1 << 16;

bool IsSampled() {
  static thread_local uint32_t queries = 0;
  return ++queries % kOneIn == 0;
}

}  // namespace

void QuerySampler::Add(std::atomic<uint64_t>* count, uint64_t amount) {
  count->fetch_add(amount, std::memory_order_relaxed);
}

void QuerySampler::CountLookup() {
  if (!IsSampled()) return;
  Add(&lookups_, 1);
  HalveIfMany();
}

void QuerySampler::CountRange(std::string_view begin, std::string_view end) {
  if (!IsSampled() || begin >= end) return;
  const range::RangeShape shape = range::ShapeOf(begin, end);
  Add(&ranges_[shape.depth], 1);
  Add(&cells_below_[shape.depth], shape.cells_below);
  HalveIfMany();
}

// Counts that another thread adds meanwhile may be halved or not: they are samples.
void QuerySampler::HalveIfMany() {
  if (sampled_.fetch_add(1, std::memory_order_relaxed) + 1 != kMostSamples) return;
  const auto halve = [](std::atomic<uint64_t>* count) {
    count->fetch_sub(count->load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  };
  halve(&lookups_);
  for (auto& count : ranges_) halve(&count);
  for (auto& count : cells_below_) halve(&count);
  sampled_.store(kMostSamples / 2, std::memory_order_relaxed);
}

range::QueryMix QuerySampler::Mix() const {
  range::QueryMix mix;
  if (sampled_.load(std::memory_order_relaxed) < kLeastSamples) return mix;
  mix.lookups = lookups_.load(std::memory_order_relaxed);
  for (size_t depth = 0; depth <= range::kMaxDepth; depth++) {
    mix.ranges[depth] = ranges_[depth].load(std::memory_order_relaxed);
    mix.cells_below[depth] = cells_below_[depth].load(std::memory_order_relaxed);
  }
  return mix;
}

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

namespace {

thread_local bool properties_come_next = false;

}  // namespace

std::string RangeExtractor::GetId() const {
  return std::exchange(properties_come_next, false) ? kRangeFileExtractorName : kRangeExtractorName;
}

void RangeExtractor::FilterWasFinished() { properties_come_next = true; }
void RangeExtractor::FilterIsBuilt() { properties_come_next = false; }

bool RangeFileExtractor::InDomain(const rocksdb::Slice& key) const {
  HeardBounds::OfThisThread().InDomain(this, key);
  return true;
}

rocksdb::Slice RangeFileExtractor::Transform(const rocksdb::Slice& key) const {
  return HeardBounds::OfThisThread().Transform(this, key);
}

}  // namespace rocksieve
