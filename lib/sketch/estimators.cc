// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/estimators.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/format/bit_coder.h"
#include "lib/format/bit_io.h"

namespace rocksieve {
namespace {

constexpr int kLeastWidth = 3;

// The counter of `width` bits as a signed number.
int64_t SignExtend(uint32_t value, int width) {
  const uint32_t shifted = value << (32 - width);
  return static_cast<int32_t>(shifted) >> (32 - width);
}

// The root mean square of differences that a width bears: then one in 16,000 is beyond +-4 of it,
// and wrong.
double BearableRms(int width) { return std::ldexp(1, width - 1) / 4; }

}  // namespace

int DifferenceEstimator::SufficientWidth() const {
  int width = kLeastWidth;
  for (int32_t counter : counters_) {
    const uint32_t magnitude = static_cast<uint32_t>(counter < 0 ? ~counter : counter);
    width = std::max<int>(width, std::bit_width(magnitude) + 2);
  }
  return width;
}

int DifferenceEstimator::WidthFor(double differences, size_t counters) {
  const double rms = std::sqrt(differences / static_cast<double>(counters));
  int width = kLeastWidth;
  while (width < kFullWidth && BearableRms(width) < rms) width++;
  return width;
}

void DifferenceEstimator::Write(int width, ByteWriter* out) const {
  out->Varint(counters_.size());
  out->U8(static_cast<uint8_t>(width));
  BitWriter bits(out->out());
  const uint64_t mask = (uint64_t{1} << width) - 1;
  for (int32_t counter : counters_) bits.Put(static_cast<uint64_t>(counter) & mask, width);
  bits.Finish();
}

bool DifferenceEstimator::Read(ByteReader* in) {
  const uint64_t counters = in->Varint();
  width_ = in->U8();
  if (counters != counters_.size() || width_ < kLeastWidth || width_ > kFullWidth) {
    width_ = kFullWidth;
    in->Fail();
    return false;
  }
  BitReader bits(in->Bytes((counters * static_cast<uint64_t>(width_) + 7) / 8));
  for (int32_t& counter : counters_) {
    counter = static_cast<int32_t>(SignExtend(static_cast<uint32_t>(bits.Take(width_)), width_));
  }
  if (!bits.Finished()) in->Fail();
  return in->ok();
}

DifferenceEstimate DifferenceEstimator::Estimate(const DifferenceEstimator& a,
                                                 const DifferenceEstimator& b) {
  const int width = std::min(a.width_, b.width_);
  const int64_t largest = (int64_t{1} << (width - 1)) - 1;
  double sum = 0;
  bool overflow = false;
  for (size_t i = 0; i < a.counters_.size(); i++) {
    const uint32_t difference =
        static_cast<uint32_t>(a.counters_[i]) - static_cast<uint32_t>(b.counters_[i]);
    const int64_t value = SignExtend(difference, width);
    overflow |= value >= largest || value <= -largest;
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  const double counters = static_cast<double>(a.counters_.size());
  DifferenceEstimate estimate;
  estimate.differences = sum;
  estimate.standard_error = std::sqrt(2 * std::max(0.0, sum * sum - sum) / counters);
  estimate.saturated =
      width < kFullWidth && (overflow || std::sqrt(sum / counters) > BearableRms(width));
  return estimate;
}

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
