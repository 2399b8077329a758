// SPDX-License-Identifier: Apache-2.0
// The small form: up to 64 keys, one dense system of as many equations as there are keys.
//
// All slots stand in one word per column, so a row is any choice of slots and a column of the value
// is the parity of one AND. A random square system can be solved with probability 0.29; the seed
// stands for the attempt that could (about the fourth).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/format/coding.h"
#include "lib/format/span.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// `slots` is 1 to 64.
inline uint64_t SmallRow(uint64_t hash, int seed, int slots) {
  // Not a sum: a product that grows by equal steps from seed to seed leaves one hash in a few
  // hundred with nearly the same row under all of them.
  const uint64_t product = (hash ^ static_cast<uint64_t>(seed) * kReseedFactor) * kRowFactor;
  return (product ^ (product >> 32)) & (~uint64_t{0} >> (64 - slots));
}

// Column j: bits j * slots .. (j + 1) * slots - 1 of what follows the two bytes of the head. The
// bits above `slots` are those of other columns, or of what follows the payload: up to 8 bytes of
// that are read.
inline uint64_t SmallColumn(const uint8_t* columns, int column, int slots) {
  const int bit = column * slots;
  const uint8_t* from = columns + bit / 8;
  const int shift = bit % 8;
  const uint64_t low = LoadLittleEndian64(from) >> shift;
  return shift == 0 ? low : low | uint64_t{from[8]} << (64 - shift);
}

inline uint64_t SmallPayloadBytes(int columns, int slots) {
  return kSmallHeadBytes + static_cast<uint64_t>(columns * slots + 7) / 8;
}

struct SmallSystem {
  int seed = 0;
  std::vector<uint32_t> values;  // of each slot: bit j belongs to column j
};

// One slot per hash. Nothing if no seed can solve them. REQUIRES: 1 to 64 distinct hashes.
std::optional<SmallSystem> SolveSmall(Span<const uint64_t> hashes);

void WriteSmall(const SmallSystem& system, int columns, uint8_t* payload);

}  // namespace rocksieve::ribbon
