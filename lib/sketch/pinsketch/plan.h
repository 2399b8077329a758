// SPDX-License-Identifier: Apache-2.0
// How a partitioned PinSketch is laid out: field, groups, how many sums of each group are sent as
// they are, and how many parity symbols for each level above.
//
//   field bits    u8, 6 .. 20
//   groups        varint, 1 .. 2^32 - 1
//   raw levels    u8, 1 .. 96
//   levels        u8: the number of parity levels; raw + parity levels <= 96
//   symbols       varint for each of them, 0 .. groups
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/byte_io.h"

namespace rocksieve::pinsketch {

inline constexpr int kMostLevels = 96;  // three times what a right plan needs
inline constexpr uint32_t kGroupsPerCheck = 64;
inline constexpr int kCheckBits = 32;
inline constexpr uint32_t kFewGroups = 4;  // no parity among fewer

struct Plan {
  int field_bits = 0;
  uint32_t groups = 0;
  int raw_levels = 0;
  std::vector<uint32_t> parity_symbols;  // of level raw_levels + 1, raw_levels + 2 ..

  int Levels() const { return raw_levels + static_cast<int>(parity_symbols.size()); }
  uint32_t Checks() const { return (groups - 1) / kGroupsPerCheck + 1; }
  // Of the sketch without the plan, in whole bytes.
  uint64_t SketchBytes() const;
  // What either side needs at most, about, apart from its keys: the receiver of a sketch from which
  // nothing can be decoded.
  uint64_t MemoryBytes() const;
  bool operator==(const Plan&) const = default;

  void Write(ByteWriter* out) const;
  // False, with the reader failed, for values outside the limits. Look at SketchBytes() and
  // MemoryBytes() before a sketch of the plan is made or read.
  bool Read(ByteReader* in);
};

// The cheapest plan that decodes `differences` (in the mean) in one message but for about one time
// in 100, with 2^cells_per_key_log2 cells for each of `keys` keys of the larger side. More cells
// cost a bit each per difference, and halve the keys that share a cell with a difference. `keys`
// and `differences` may be any finite numbers >= 0.
Plan MakePlan(double keys, double differences, double cells_per_key_log2);

// Raw levels, at least so many, with which so many wrong decodings are expected of a sketch at the
// first attempt; and those of few groups.
int RawLevels(double groups, double per_group, int least, double wrong_decodings);
int RawLevelsWithoutParity(double per_group);

// The chance that a Poisson-distributed number with this mean is at least n.
double PoissonAtLeast(double mean, int n);

}  // namespace rocksieve::pinsketch
