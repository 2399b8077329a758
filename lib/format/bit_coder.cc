// SPDX-License-Identifier: Apache-2.0
#include "lib/format/bit_coder.h"

#include <algorithm>
#include <bit>

#include "lib/format/bit_io.h"

namespace rocksieve {
namespace {

constexpr int kCodeBits = 56;
constexpr uint64_t kCodeMask = (uint64_t{1} << kCodeBits) - 1;
constexpr uint64_t kRangeOfAKnownByte = uint64_t{1} << (kCodeBits - 8);

uint64_t PartOfOne(uint64_t range, FlagProbability probability) {
  return (range >> 32) * probability;
}

// The nearest to ones / count. REQUIRES: ones <= count, 0 < count < 2^56.
FlagProbability ProbabilityOf(uint64_t ones, uint64_t count) {
  const unsigned __int128 scaled = static_cast<unsigned __int128>(ones) << 32;
  const uint64_t nearest = static_cast<uint64_t>((scaled + count / 2) / count);
  return static_cast<uint32_t>(std::clamp<uint64_t>(nearest, 1, UINT32_MAX));
}

}  // namespace

void FlagEncoder::Put(bool flag, FlagProbability probability_of_one) {
  const uint64_t part = PartOfOne(range_, probability_of_one);
  if (flag) {
    range_ = part;
  } else {
    low_ += part;
    range_ -= part;
  }
  while (range_ < kRangeOfAKnownByte) {
    range_ <<= 8;
    ShiftOut();
  }
}

// Takes the top byte from low_. It can still change by a carry, so it is held back, with all 0xff
// bytes after it.
void FlagEncoder::ShiftOut() {
  const bool carry = low_ > kCodeMask;
  const uint8_t top = static_cast<uint8_t>(low_ >> (kCodeBits - 8));
  low_ = (low_ << 8) & kCodeMask;
  if (!carry && top == 0xff && holds_byte_) {
    held_ff_bytes_++;
    return;
  }
  if (holds_byte_) {
    out_->push_back(static_cast<char>(held_byte_ + carry));
    out_->append(held_ff_bytes_, carry ? '\0' : '\xff');
  }
  held_ff_bytes_ = 0;
  held_byte_ = top;
  holds_byte_ = true;
}

void FlagEncoder::Finish() {
  // The number with the most zeros at its end within [low, low + range).
  const uint64_t end = low_ + range_;
  for (int zeros = kCodeBits; zeros >= 0; zeros--) {
    const uint64_t step = uint64_t{1} << zeros;
    const uint64_t candidate = (low_ + step - 1) & ~(step - 1);
    if (candidate < end) {
      low_ = candidate;
      break;
    }
  }
  const size_t before = out_->size();
  for (int byte = 0; byte <= kCodeBits / 8; byte++) ShiftOut();
  // The decoder reads zeros past the end. Zeros of before this call stay: they cost a byte at most.
  while (out_->size() > before && out_->back() == '\0') out_->pop_back();
}

FlagDecoder::FlagDecoder(std::string_view bytes) : bytes_(bytes) {
  for (int byte = 0; byte < kCodeBits / 8; byte++) offset_ = offset_ << 8 | NextByte();
}

bool FlagDecoder::Take(FlagProbability probability_of_one) {
  const uint64_t part = PartOfOne(range_, probability_of_one);
  const bool flag = offset_ < part;
  if (flag) {
    range_ = part;
  } else {
    offset_ -= part;
    range_ -= part;
  }
  while (range_ < kRangeOfAKnownByte) {
    range_ <<= 8;
    offset_ = (offset_ << 8 | NextByte()) & kCodeMask;
  }
  return flag;
}

void EncodeFlags(std::span<const uint8_t> flags, ByteWriter* out) {
  const uint64_t ones = static_cast<uint64_t>(std::count(flags.begin(), flags.end(), 1));
  out->Varint(ones);
  if (ones == 0 || ones == flags.size()) return;
  const FlagProbability probability = ProbabilityOf(ones, flags.size());
  std::string coded;
  FlagEncoder encoder(&coded);
  for (uint8_t flag : flags) encoder.Put(flag != 0, probability);
  encoder.Finish();
  out->String(coded);
}

bool DecodeFlags(ByteReader* in, size_t count, PageVector<uint8_t>* flags) {
  flags->clear();
  const uint64_t ones = in->Varint(count);
  if (!in->ok()) return false;
  if (ones == 0 || ones == count) {
    flags->assign(count, ones != 0);
    return true;
  }
  const FlagProbability probability = ProbabilityOf(ones, count);
  FlagDecoder decoder(in->String());
  if (!in->ok()) return false;
  flags->resize(count);
  uint64_t seen = 0;
  for (uint8_t& flag : *flags) seen += flag = decoder.Take(probability);
  if (seen != ones) {
    in->Fail();
    flags->clear();
  }
  return in->ok();
}

namespace {

constexpr int kLargestParameter = 63;

// Bits of all gaps; saturates, for no parameter that is far too small must look cheap.
uint64_t CostOf(std::span<const uint64_t> values, int parameter) {
  uint64_t cost = values.size() * static_cast<uint64_t>(parameter + 1), previous = 0;
  for (uint64_t value : values) {
    const uint64_t quotient = (value - previous) >> parameter;
    if (quotient > (uint64_t{1} << 40)) return UINT64_MAX;
    cost += quotient;
    previous = value;
  }
  return cost;
}

// The cost is convex in the parameter but for rounding: walk downhill from the mean gap's width.
int BestParameter(std::span<const uint64_t> values) {
  const uint64_t mean_gap = values.back() / values.size();
  int best = mean_gap == 0 ? 0 : std::bit_width(mean_gap) - 1;
  uint64_t best_cost = CostOf(values, best);
  for (int step : {-1, 1}) {
    for (int next = best + step; next >= 0 && next <= kLargestParameter; next += step) {
      const uint64_t cost = CostOf(values, next);
      if (cost >= best_cost) break;
      best = next;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace

void EncodeSorted(std::span<const uint64_t> values, std::span<const uint64_t> extras,
                  int extra_bits, ByteWriter* out) {
  out->Varint(values.size());
  if (values.empty()) return;
  const int parameter = BestParameter(values);
  out->U8(static_cast<uint8_t>(parameter));
  BitWriter bits(out->out());
  const uint64_t mask = (uint64_t{1} << parameter) - 1;
  uint64_t previous = 0;
  for (size_t i = 0; i < values.size(); i++) {
    const uint64_t gap = values[i] - previous;
    previous = values[i];
    bits.PutUnary(gap >> parameter);
    bits.Put(gap & mask, parameter);
    if (extra_bits > 0) bits.Put(extras[i], extra_bits);
  }
  bits.Finish();
}

bool DecodeSorted(ByteReader* in, uint64_t largest, int extra_bits, uint64_t most_values,
                  SortedValues* out) {
  out->values.clear();
  out->extras.clear();
  const uint64_t count = in->Varint(most_values);
  if (!in->ok() || count == 0) return in->ok();
  const int parameter = in->U8();
  BitReader bits(in->Peek());
  const uint64_t fewest_bits = static_cast<uint64_t>(1 + parameter + extra_bits);
  if (!in->ok() || parameter > kLargestParameter || count > bits.remaining_bits() / fewest_bits) {
    in->Fail();
    return false;
  }
  out->values.resize(count);
  if (extra_bits > 0) out->extras.resize(count);
  uint64_t value = 0;
  for (size_t i = 0; i < count && bits.ok(); i++) {
    const uint64_t room = largest - value;  // value <= largest, always
    const uint64_t quotient = bits.TakeUnary(room >> parameter);
    const uint64_t gap = quotient << parameter | bits.Take(parameter);
    if (gap > room) break;
    value += gap;
    out->values[i] = value;
    if (extra_bits > 0) out->extras[i] = bits.Take(extra_bits);
    if (i + 1 == count && bits.ok() && bits.PaddingIsZero()) {
      in->Bytes(bits.bytes_taken());
      return true;
    }
  }
  out->values.clear();
  out->extras.clear();
  in->Fail();
  return false;
}

}  // namespace rocksieve
