// SPDX-License-Identifier: Apache-2.0
#include "plugin/range/query_sampler.h"

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

}  // namespace rocksieve
