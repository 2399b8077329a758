// SPDX-License-Identifier: Apache-2.0
#include "experiments/any_prefix/range_coder.h"

#include <algorithm>

namespace rocksieve::experiments {
namespace {

constexpr uint32_t kLeastRange = 1 << 24;

}  // namespace

void RangeEncoder::Carry() {
  if (low_ >> 32 == 0) return;
  low_ &= 0xffffffff;
  for (size_t i = bytes_.size(); i-- > 0;) {
    if (static_cast<uint8_t>(++bytes_[i]) != 0) break;
  }
}

void RangeEncoder::Put(Distribution::Part part) {
  const uint32_t unit = range_ >> Distribution::kTotalBits;
  low_ += static_cast<uint64_t>(unit) * part.begin;
  range_ = unit * part.size;
  Carry();
  while (range_ < kLeastRange) {
    bytes_.push_back(static_cast<char>(low_ >> 24));
    low_ = low_ << 8 & 0xffffffff;
    range_ <<= 8;
  }
}

std::string RangeEncoder::Finish() {
  for (int bytes = 1; bytes <= 4; bytes++) {
    const uint64_t step = uint64_t{1} << (32 - 8 * bytes);
    const uint64_t value = (low_ + step - 1) / step * step;
    if (bytes < 4 && value + step > low_ + range_) continue;
    low_ = value;
    Carry();
    for (int i = 0; i < bytes; i++) {
      bytes_.push_back(static_cast<char>(low_ >> (24 - 8 * i)));
    }
    break;
  }
  low_ = 0;
  range_ = ~0U;
  return std::move(bytes_);
}

RangeDecoder::RangeDecoder(const uint8_t* bytes) : next_(bytes) {
  for (int i = 0; i < 4; i++) code_ = code_ << 8 | *next_++;
}

Symbol RangeDecoder::Get(const Distribution& distribution, Distribution::Part* part) {
  const uint32_t unit = range_ >> Distribution::kTotalBits;
  const uint32_t place = std::min(code_ / unit, Distribution::kTotal - 1);
  const Symbol symbol = distribution.SymbolAtPlace(place, part);
  code_ -= unit * part->begin;
  range_ = unit * part->size;
  while (range_ < kLeastRange) {
    code_ = code_ << 8 | *next_++;
    range_ <<= 8;
  }
  return symbol;
}

}  // namespace rocksieve::experiments
