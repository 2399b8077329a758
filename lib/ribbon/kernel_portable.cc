// SPDX-License-Identifier: Apache-2.0
// The kernel for any machine: plain C++, either byte order. And the choice among all of them.
#include <algorithm>

#include "lib/ribbon/kernel.h"

namespace rocksieve::ribbon {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;

// Each byte is 1 if an odd number of its bits was set.
uint64_t ByteParities(uint64_t bytes) {
  bytes ^= bytes >> 4;
  bytes ^= bytes >> 2;
  bytes ^= bytes >> 1;
  return bytes & kOnes;
}

uint64_t InEachByte(uint64_t byte) { return (byte & 0xFF) * kOnes; }

// Eight columns at a time; most missing keys leave after the first eight.
template <bool kManyColumns>
bool RowMatches(const uint8_t* first, const uint8_t* second, const uint8_t* third,
                uint32_t coefficients, uint32_t fingerprint, const Zone& zone) {
  constexpr uint64_t kGatherLowBits = 0x0102040810204080;
  const uint64_t a = InEachByte(coefficients), b = InEachByte(coefficients >> 8),
                 c = InEachByte(coefficients >> 16);
  for (uint32_t column = 0; column < zone.columns; column += 8) {
    const uint64_t selected = (LoadLittleEndian64(first + column) & a) ^
                              (LoadLittleEndian64(second + column) & b) ^
                              (LoadLittleEndian64(third + column) & c);
    const auto value = static_cast<uint32_t>((ByteParities(selected) * kGatherLowBits) >> 56);
    if (((value ^ (fingerprint >> column)) & (zone.mask >> column) & 0xFF) != 0) return false;
  }
  return true;
}

#include "lib/ribbon/query_loop.h"

struct Columns {
  uint64_t low, high;  // byte j of low is column j

  static Columns None() { return {0, 0}; }
  static Columns Results(uint32_t bits) {
    constexpr uint64_t kBitJOfByteJ = 0x8040201008040201;
    return {InEachByte(bits) & kBitJOfByteJ, InEachByte(bits >> 8) & kBitJOfByteJ};
  }
  static Columns Masked(Columns columns, uint64_t word) {
    const uint64_t mask = InEachByte(word);
    return {columns.low & mask, columns.high & mask};
  }
  static Columns Xor(Columns a, Columns b) { return {a.low ^ b.low, a.high ^ b.high}; }
  static Columns Or(Columns a, Columns b) { return {a.low | b.low, a.high | b.high}; }
  Columns Parities() const { return {ByteParities(low), ByteParities(high)}; }
  Columns ShiftLeft(int bits) const { return {low << bits, high << bits}; }
  void Store(uint8_t* sixteen_bytes) const {
    StoreLittleEndian64(sixteen_bytes, low);
    StoreLittleEndian64(sixteen_bytes + 8, high);
  }
};

#include "lib/ribbon/back_substitution.h"

}  // namespace

const Kernel& KernelFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kSse2:
      return kSse2Kernel;
    case Isa::kAvx512:
      if (CpuHasGfni() && CpuHasVbmi2()) return kAvx512Kernel;
      [[fallthrough]];
    case Isa::kAvx2:
      return CpuHasGfni() ? kGfniKernel : kSse2Kernel;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeonKernel;
#endif
    default:
      return kPortableKernel;
  }
}

bool QueryAnyRow(const Table& table, const Row& row, int64_t first_group, uint32_t fingerprint) {
  const GroupLayout& layout = table.layout;
  const auto groups = static_cast<int64_t>(layout.groups);
  const auto first = static_cast<uint64_t>(first_group);
  const auto second = static_cast<uint64_t>(Folded(first_group + 1, groups));
  const auto third = static_cast<uint64_t>(
      Folded(first_group + static_cast<int64_t>(row.ThirdGroupDistance()), groups));
  const bool wide = std::min({first, second, third}) >= layout.first_wide_group;
  const uint8_t* bytes = table.group_bytes;
  return RowMatches<true>(bytes + layout.Byte(first), bytes + layout.Byte(second),
                          bytes + layout.Byte(third), row.Coefficients(), fingerprint,
                          table.zones[wide]);
}

const Kernel kPortableKernel = {"portable", QueriesFor, BackSubstitute, nullptr};

const Kernel& ActiveKernel() {
  static const Kernel& kernel = KernelFor(ActiveIsa());
  return kernel;
}

}  // namespace rocksieve::ribbon
