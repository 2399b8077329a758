// SPDX-License-Identifier: Apache-2.0
// Where the bits of a key stand: the lane-seeded split block Bloom filter (LSB).
// docs/formats/bloom.md has every byte; docs/design/bloom.md says why it works, and what is new
// against Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", 2007.
//
// Invariants: a probe's position depends on the key hash and on the line only; a line's bytes
// depend on the set of hashes that fall into it only.
#pragma once

#include <cstdint>

#include "lib/format/coding.h"

namespace rocksieve::bloom {

inline constexpr int kLineBytes = 64;
inline constexpr int kLanes = 7;  // seeded lanes of 64 probe bits; the eighth word is special
inline constexpr int kGroups = 8;
inline constexpr int kSeeds = 16;

inline constexpr uint64_t kPositionFactor = 0x9FB21C651E98DF25;
inline constexpr uint64_t kExtraPositionFactor = 0xD6E8FEB86659FD93;
// The probe bits of L[7] are its top byte; the others count as set.
inline constexpr uint64_t kNotProbeBits = 0x00FFFFFFFFFFFFFF;

inline uint64_t LineIndex(uint64_t hash, uint64_t lines) { return MultiplyHigh64(hash, lines); }
inline uint32_t Group(uint64_t hash) { return static_cast<uint32_t>(hash) >> 29; }
// Filters of 12 probes: the four lanes, 0..3 or 4..7, that take a second probe.
inline uint32_t Half(uint64_t hash) { return static_cast<uint32_t>(hash) >> 28 & 1; }
// Filters of 1 to 6 probes: the first of the lanes (modulo 7) that take a probe.
inline uint32_t FirstLane(uint64_t hash) {
  return (static_cast<uint32_t>(hash >> 12 & 0xFFFF) * kLanes) >> 16;
}

// Unturned positions, one in each byte; only the low six bits of each byte count.
inline uint64_t Positions(uint64_t hash) { return hash * kPositionFactor; }
inline uint64_t ExtraPositions12(uint64_t hash) { return (hash * kExtraPositionFactor) >> 32; }
inline uint64_t ExtraPositions16(uint64_t hash) {
  return (hash << 32 | hash >> 32) * kExtraPositionFactor;
}

// Seven bytes, of a probe each, as those of the lanes from the first one on.
inline uint64_t TurnedToLanes(uint64_t seven_bytes, uint64_t hash) {
  const uint32_t bits = 8 * FirstLane(hash);
  return (seven_bytes << bits | seven_bytes >> (8 * kLanes - bits)) & kNotProbeBits;
}
// Of 1 to 6 probes: the unturned positions, each in the byte of its lane, and 0xFF in those bytes.
inline uint64_t LanePositions(uint64_t hash) {
  return TurnedToLanes(Positions(hash) & kNotProbeBits, hash);
}
template <int kProbes>
uint64_t ProbedLanes(uint64_t hash) {
  return TurnedToLanes((uint64_t{1} << (8 * kProbes)) - 1, hash);
}

// Calls probe(lane, unturned position) for each probe of the key, lane 7 being the special word.
// The slow, obvious form: the portable kernel and the others are checked against it.
template <typename Probe>
void ForEachProbe(uint64_t hash, int probes, Probe probe) {
  auto position = [](uint64_t positions, int i) {
    return static_cast<int>(positions >> (8 * i) & 63);
  };
  const uint64_t positions = Positions(hash);
  if (probes < 8) {
    for (int i = 0; i < probes; i++) {
      probe(static_cast<int>((FirstLane(hash) + i) % kLanes), position(positions, i));
    }
    return;
  }
  for (int lane = 0; lane < 8; lane++) probe(lane, position(positions, lane));
  if (probes == 12) {
    const uint64_t extra = ExtraPositions12(hash);
    const int first = 4 * static_cast<int>(Half(hash));
    for (int i = 0; i < 4; i++) probe(first + i, position(extra, i));
  } else if (probes == 16) {
    const uint64_t extra = ExtraPositions16(hash);
    for (int lane = 0; lane < 8; lane++) probe(lane, position(extra, lane));
  }
}

// The parts of a query that all kernels share.

inline constexpr uint64_t kLowSixOfEachByte = 0x3F3F3F3F3F3F3F3F;
inline constexpr uint64_t kLowestOfEachByte = 0x0101010101010101;
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

inline bool IsProbeCount(int probes) {
  return (probes >= 1 && probes <= 6) || probes == 8 || probes == 12 || probes == 16;
}

// How many choices a build tries. Readers take any; the expected rate depends on it.
enum class Effort : uint8_t { kUsual = 0, kFast = 1, kThorough = 2 };
inline constexpr int kEfforts = 3;

// The block's parameter byte: the number of probes, below the effort.
inline int ProbesOf(uint8_t parameter) { return parameter & 63; }
inline Effort EffortOf(uint8_t parameter) {
  return parameter >> 6 < kEfforts ? static_cast<Effort>(parameter >> 6) : Effort::kUsual;
}
inline uint8_t ParameterOf(int probes, Effort effort) {
  return static_cast<uint8_t>(static_cast<int>(effort) << 6 | probes);
}
inline bool IsParameter(uint8_t parameter) {
  return IsProbeCount(ProbesOf(parameter)) && parameter >> 6 < kEfforts;
}

}  // namespace rocksieve::bloom
