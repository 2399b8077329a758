// SPDX-License-Identifier: Apache-2.0
#include "lib/sketch/estimators.h"

#include <algorithm>
#include <bit>

#include "lib/format/bit_io.h"

namespace rocksieve {
namespace {

constexpr int kLeastWidth = 3;

// The counter of `width` bits as a signed number.
int64_t SignExtend(uint32_t value, int width) {
  const uint32_t shifted = value << (32 - width);
  return static_cast<int32_t>(shifted) >> (32 - width);
}

}  // namespace

int DifferenceEstimator::SufficientWidth() const {
  int width = kLeastWidth;
  for (int32_t counter : counters_) {
    const uint32_t magnitude = static_cast<uint32_t>(counter < 0 ? ~counter : counter);
    width = std::max<int>(width, std::bit_width(magnitude) + 2);
  }
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

double DifferenceEstimator::Estimate(const DifferenceEstimator& a, const DifferenceEstimator& b) {
  const int width = std::min(a.width_, b.width_);
  double sum = 0;
  for (size_t i = 0; i < a.counters_.size(); i++) {
    const uint32_t difference =
        static_cast<uint32_t>(a.counters_[i]) - static_cast<uint32_t>(b.counters_[i]);
    const int64_t value = SignExtend(difference, width);
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

}  // namespace rocksieve
