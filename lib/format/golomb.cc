// SPDX-License-Identifier: Apache-2.0
#include "lib/format/golomb.h"

#include <bit>

#include "lib/format/bit_io.h"

namespace rocksieve {
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
