// The kernel for any machine: plain C++, either byte order.
#include <algorithm>
#include <array>
#include <bit>

#include "bloom/query_parts.h"

namespace rocksieve::bloom {
namespace {

// `position` may have garbage above its low six bits.
uint64_t Bit(uint64_t word, uint64_t position) { return word >> (position & 63) & 1; }

// Most missing keys leave after the first four lanes, which are tested without a branch; an exit
// per lane would be mispredicted, and no exit at all would do needless work.
template <int kProbes>
bool Query(const Filter& filter, uint64_t hash) {
  const uint8_t* line = static_cast<const LineArray&>(filter).LineOf(hash);
  const uint64_t special = Word(line, 7);
  const uint64_t turns = Turns(special, Group(hash));
  if constexpr (kProbes < 8) {
    const uint32_t first = FirstLane(hash);
    uint64_t all = 1;
    for (int i = 0; i < kProbes; i++) {
      const uint32_t lane = first + i < kLanes ? first + i : first + i - kLanes;
      all &= Bit(Word(line, lane), (Positions(hash) >> (8 * i)) + (turns >> (8 * lane)));
    }
    return all != 0;
  } else {
    const uint64_t turned = TurnedPositions(hash, turns);
    if (!(Bit(Word(line, 0), turned) & Bit(Word(line, 1), turned >> 8) &
          Bit(Word(line, 2), turned >> 16) & Bit(Word(line, 3), turned >> 24))) {
      return false;
    }
    if (!Bit(Word(line, 4), turned >> 32)) return false;
    if (!Bit(Word(line, 5), turned >> 40)) return false;
    if (!Bit(Word(line, 6), turned >> 48)) return false;
    if (!Bit(special | kNotProbeBits, turned >> 56)) return false;

    if constexpr (kProbes == 12) {
      const uint32_t half = Half(hash);
      const uint8_t* lanes = line + 32 * half;
      const uint64_t extra = TurnedExtra12(hash, turns);
      const uint64_t not_probe_bits = half != 0 ? kNotProbeBits : 0;
      return (Bit(Word(lanes, 0), extra) & Bit(Word(lanes, 1), extra >> 8) &
              Bit(Word(lanes, 2), extra >> 16) &
              Bit(Word(lanes, 3) | not_probe_bits, extra >> 24)) != 0;
    } else if constexpr (kProbes == 16) {
      const uint64_t extra = TurnedExtra16(hash, turns);
      uint64_t all = Bit(special | kNotProbeBits, extra >> 56);
      for (int lane = 0; lane < kLanes; lane++) all &= Bit(Word(line, lane), extra >> (8 * lane));
      return all != 0;
    }
    return true;
  }
}

QueryFunction QueryFor(int probes) {
  switch (probes) {
    case 1: return Query<1>;
    case 2: return Query<2>;
    case 3: return Query<3>;
    case 4: return Query<4>;
    case 5: return Query<5>;
    case 6: return Query<6>;
    case 8: return Query<8>;
    case 12: return Query<12>;
    default: return Query<16>;
  }
}

void AddKeys(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
             uint64_t first_line, LineMasks* masks) {
  for (size_t i = 0; i < count; i++) {
    uint64_t* words = masks[LineIndex(hashes[i], line_count) - first_line][Group(hashes[i])];
    ForEachProbe(hashes[i], probes,
                 [words](int lane, int position) { words[lane] |= uint64_t{1} << position; });
  }
}

// The union of four groups' bits, where group first_turn + i is turned by (first_turn + i) * seed.
uint64_t TurnedUnion(const LineMasks& masks, int first_group, int lane, int seed) {
  uint64_t bits = 0;
  for (int i = 3; i >= 0; i--) bits = std::rotl(bits, seed) | masks[first_group + i][lane];
  return std::rotl(bits, (first_group * seed) & 63);
}

void ChooseSeeds(const LineMasks& masks, uint8_t* line) {
  uint64_t special = 0;
  for (const auto& group : masks) special |= group[7];
  special &= ~kNotProbeBits;

  for (int lane = 0; lane < kLanes; lane++) {
    std::array<uint64_t, kSeeds> low_groups, high_groups;
    std::array<uint32_t, kSeeds> ranking;  // bits set << 4 | seed
    for (int seed = 0; seed < kSeeds; seed++) {
      low_groups[seed] = TurnedUnion(masks, 0, lane, seed);
      high_groups[seed] = TurnedUnion(masks, 4, lane, seed);
      ranking[seed] = std::popcount(low_groups[seed]) << 4 | seed;
    }
    std::partial_sort(ranking.begin(), ranking.begin() + kBeam, ranking.end());
    uint32_t best = UINT32_MAX;  // bits set << 8 | second seed << 4 | first seed
    for (int i = 0; i < kBeam; i++) {
      const uint32_t first = ranking[i] & 15;
      for (uint32_t second = 0; second < kSeeds; second++) {
        const uint32_t bits = std::popcount(low_groups[first] | high_groups[second]);
        best = std::min(best, bits << 8 | second << 4 | first);
      }
    }
    StoreLittleEndian64(line + 8 * lane, low_groups[best & 15] | high_groups[best >> 4 & 15]);
    special |= static_cast<uint64_t>(best & 0xFF) << (8 * lane);
  }
  StoreLittleEndian64(line + 56, special);
}

}  // namespace

const Kernel kPortableKernel = {"portable", QueryFor, AddKeys, ChooseSeeds};

}  // namespace rocksieve::bloom
