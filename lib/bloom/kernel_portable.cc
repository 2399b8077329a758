// SPDX-License-Identifier: Apache-2.0
// The kernel for any machine: plain C++, either byte order. And the choice among all of them.

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {
namespace {

// `position` may have garbage above its low six bits.
uint64_t Bit(uint64_t word, uint64_t position) { return word >> (position & 63) & 1; }

// Most missing keys leave after the first four lanes, which are tested without a branch; an exit
// per lane would be mispredicted, and no exit at all would do needless work.
template <int kProbes>
bool LineHas(const uint8_t* line, uint64_t hash) {
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

template <int kProbes>
void AddKey(uint64_t hash, uint64_t* words) {
  ForEachProbe(hash, kProbes,
               [words](int lane, int position) { words[lane] |= uint64_t{1} << position; });
}

#include "lib/bloom/kernel_loops.h"

struct Vector {
  static constexpr int kLanes = 1;
  uint64_t v;

  static Vector Load(const uint64_t* from) { return {*from}; }
  void Store(uint64_t* to) const { *to = v; }
  static Vector Worst() { return {INT64_MAX}; }
  static Vector Or(Vector a, Vector b) { return {a.v | b.v}; }
  static Vector RotateLeft(Vector a, int n) { return {a.v << n | a.v >> (-n & 63)}; }
  // Bits of pairs, of nibbles, of bytes; the highest byte of the product is their sum. Baseline
  // x86-64 has no instruction for it.
  static Vector Ranked(Vector a, int tag) {
    uint64_t x = a.v - (a.v >> 1 & 0x5555555555555555);
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return {((x * 0x0101010101010101) & 0xFF00000000000000) | static_cast<uint64_t>(tag)};
  }
  // Ranks are below 2^63, so the sign of a difference tells. Of ?:, compilers make branches of what
  // is a coin toss.
  static Vector Min(Vector a, Vector b) { return {b.v + LessBy(a, b)}; }
  static Vector Max(Vector a, Vector b) { return {a.v - LessBy(a, b)}; }
  // a - b if a is less, else 0.
  static uint64_t LessBy(Vector a, Vector b) {
    const uint64_t difference = a.v - b.v;
    return difference & -(difference >> 63);
  }
};

#include "lib/bloom/choose_seeds.h"

}  // namespace

Queries PortableQueriesFor(int probes) { return QueriesFor(probes); }

void PortableAddKeys(const uint64_t* hashes, size_t count, int probes, uint64_t line_count,
                     uint64_t first_line, LineMasks* masks) {
  AddKeys(hashes, count, probes, line_count, first_line, masks);
}

const Kernel kPortableKernel = {"portable", PortableQueriesFor, PortableAddKeys, SeedChoiceFor};

const Kernel& KernelFor(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::kSse2:
      return kSse2Kernel;
    case Isa::kAvx2:
      return kAvx2Kernel;
    case Isa::kAvx512:
      return kAvx512Kernel;
#elif defined(__aarch64__)
    case Isa::kNeon:
      return kNeonKernel;
#endif
    default:
      return kPortableKernel;
  }
}

const Kernel& ActiveKernel() {
  static const Kernel& kernel = KernelFor(ActiveIsa());
  return kernel;
}

}  // namespace rocksieve::bloom
