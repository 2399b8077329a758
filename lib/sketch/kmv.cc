// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/kmv.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/format/bit_coder.h"

namespace rocksieve {
namespace {

constexpr uint64_t kWhole = UINT64_MAX;  // the threshold of a sketch that has all its keys

// Numbers of a sample of all hashes below a threshold.
struct Sample {
  double share;
  Estimate Count(size_t hits) const {
    const double in_sample = static_cast<double>(hits);
    return {in_sample / share, std::sqrt(std::max(in_sample, 1.0) * (1 - share)) / share};
  }
};

Sample SampleBelow(uint64_t threshold) {
  return {threshold == kWhole ? 1 : static_cast<double>(threshold) * 0x1p-64};
}

size_t CountBelow(const std::vector<uint64_t>& sorted, uint64_t threshold) {
  if (threshold == kWhole) return sorted.size();
  return static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), threshold) -
                             sorted.begin());
}

}  // namespace

std::vector<uint64_t> KmvSketch::Sorted(int shift) const {
  std::vector<uint64_t> sorted = values_;
  for (uint64_t& value : sorted) value = value >> shift << shift;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.size() > k_) sorted.resize(k_);
  return sorted;
}

uint64_t KmvSketch::Threshold(const std::vector<uint64_t>& sorted) const {
  return sorted.size() < k_ ? kWhole : sorted.back();
}

void KmvSketch::Compact() {
  values_ = Sorted(shift_);
  if (values_.size() == k_) limit_ = values_.back();
}

void KmvSketch::Merge(const KmvSketch& other) {
  const std::vector<uint64_t> theirs = other.Sorted(std::max(shift_, other.shift_));
  shift_ = std::max(shift_, other.shift_);
  k_ = std::min(k_, other.k_);
  values_ = Sorted(shift_);
  values_.insert(values_.end(), theirs.begin(), theirs.end());
  Compact();
}

Estimate KmvSketch::DistinctCount() const {
  const std::vector<uint64_t> sorted = Sorted(shift_);
  const uint64_t threshold = Threshold(sorted);
  return SampleBelow(threshold).Count(CountBelow(sorted, threshold));
}

OverlapEstimate KmvSketch::Overlap(const KmvSketch& a, const KmvSketch& b) {
  const int shift = std::max(a.shift_, b.shift_);
  const std::vector<uint64_t> in_a = a.Sorted(shift), in_b = b.Sorted(shift);
  const uint64_t threshold = std::min(a.Threshold(in_a), b.Threshold(in_b));
  const size_t below_a = CountBelow(in_a, threshold), below_b = CountBelow(in_b, threshold);
  size_t common = 0;
  for (size_t i = 0, j = 0; i < below_a && j < below_b;) {
    common += in_a[i] == in_b[j];
    const bool next_a = in_a[i] <= in_b[j], next_b = in_b[j] <= in_a[i];
    i += next_a;
    j += next_b;
  }
  const Sample sample = SampleBelow(threshold);
  OverlapEstimate overlap;
  overlap.a = a.DistinctCount();
  overlap.b = b.DistinctCount();
  overlap.either = sample.Count(below_a + below_b - common);
  overlap.both = sample.Count(common);
  const double either = static_cast<double>(below_a + below_b - common);
  if (either > 0) {
    const double jaccard = static_cast<double>(common) / either;
    overlap.jaccard = {jaccard,
                       threshold == kWhole ? 0 : std::sqrt(jaccard * (1 - jaccard) / either)};
  }
  return overlap;
}

void KmvSketch::Write(int precision_bits, ByteWriter* out) const {
  std::vector<uint64_t> sorted = Sorted(shift_);
  const uint64_t mean_gap = sorted.empty() ? 0 : sorted.back() / sorted.size();
  const int shift =
      std::clamp(static_cast<int>(std::bit_width(mean_gap)) - precision_bits, shift_, 63);
  sorted = Sorted(shift);
  for (uint64_t& value : sorted) value >>= shift;
  // Rounding may make two equal: then the threshold is lost, unless k shrinks with them.
  const bool full = Threshold(Sorted(shift_)) != kWhole;
  out->Varint(full ? std::max(sorted.size(), kLeastK) : k_);
  out->U8(static_cast<uint8_t>(shift));
  EncodeSorted(sorted, {}, 0, out);
}

bool KmvSketch::Read(ByteReader* in, size_t most_k) {
  k_ = static_cast<size_t>(in->Varint(std::min(most_k, kMostK)));
  shift_ = in->U8();
  SortedValues sorted;
  if (k_ < kLeastK || shift_ > 63 || !DecodeSorted(in, UINT64_MAX >> shift_, 0, k_, &sorted)) {
    in->Fail();
    *this = KmvSketch(kLeastK);
    return false;
  }
  values_ = std::move(sorted.values);
  for (uint64_t& value : values_) value <<= shift_;
  limit_ = UINT64_MAX;
  return true;
}

}  // namespace rocksieve
