// The parts of a query that all kernels share.
#pragma once

#include <cstdint>

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {

inline constexpr uint64_t kLowSixOfEachByte = 0x3F3F3F3F3F3F3F3F;
inline constexpr uint64_t kSeedOfEachLane = 0x000F0F0F0F0F0F0F;

inline uint64_t Word(const uint8_t* line, uint64_t lane) {
  return LoadLittleEndian64(line + 8 * lane);
}

// The turn of each lane, one in each byte: seed times group, at most 15 * 7. Lane 7 has none.
inline uint64_t Turns(uint64_t special_word, uint32_t group) {
  return ((special_word >> (group & 4)) & kSeedOfEachLane) * group;
}

// The turned positions of a line's eight probes, one in each byte, at most 63 + 105: only the low
// six bits of each count.
inline uint64_t TurnedPositions(uint64_t hash, uint64_t turns) {
  return (Positions(hash) & kLowSixOfEachByte) + turns;
}
// Of the four further ones of 12 probes, and the eight further ones of 16.
inline uint64_t TurnedExtra12(uint64_t hash, uint64_t turns) {
  return (ExtraPositions12(hash) & kLowSixOfEachByte) + (turns >> (32 * Half(hash)) & 0xFFFFFFFF);
}
inline uint64_t TurnedExtra16(uint64_t hash, uint64_t turns) {
  return (ExtraPositions16(hash) & kLowSixOfEachByte) + turns;
}

}  // namespace rocksieve::bloom
