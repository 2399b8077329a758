// SPDX-License-Identifier: Apache-2.0
// The inner loop of rateless symbols: all keys into the first symbols at once. One implementation
// per instruction set, each in a file of its own (rateless_kernel_NAME.cc), with the same result.
//
// The keys of a block, whose data fit the first cache, jump in turns (RatelessMapping): those that
// are still within the symbols stand side by side, so that vectors are full of them.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "lib/cpu/isa.h"
#include "lib/hash/mix.h"

namespace rocksieve {

// The jumps are IEEE double arithmetic without any expression that could become a fused
// multiply-add: equal on all machines that do not compute in longer registers.
static_assert(FLT_EVAL_METHOD == 0, "rateless symbols need IEEE double arithmetic");

struct RatelessCell {
  uint64_t ids = 0;
  uint32_t checks = 0;
  uint32_t count = 0;
};

// What a cell's checks are the sum of.
inline constexpr uint64_t kRatelessCheckSeed = 0x0c4ec40fa11ab1e5;
inline uint32_t RatelessCheckOf(uint64_t id) {
  return static_cast<uint32_t>(Mix64(id + kRatelessCheckSeed) >> 32);
}

// Which symbols of the endless sequence of a rateless IBLT a key takes part in.
//
// Symbol i has each key with probability 1 / (1 + i / 2), symbol 0 has all. Rather than drawing for
// each symbol, the mapping jumps: from i, the next index exceeds m with probability
// (i + 1)(i + 2) / ((m + 1)(m + 2)), the product of the chances to be left out. So with u uniform
// in (0, 1] the next index is the smallest m > i with (m + 1)(m + 2) >= (i + 1)(i + 2) / u, that is
// sqrt((i + 1)(i + 2) / u + 1 / 4) - 3 / 2, rounded up. About 2 ln(m) jumps up to symbol m.
// Source: Yang, Gilad, Alizadeh, "Practical rateless set reconciliation", SIGCOMM 2024, with
// alpha = 1/2; the generator, the rounding and the exact root are ours: part of the wire format.
class RatelessMapping {
 public:
  static constexpr uint64_t kSeed = 0x5eed0f7ab1e55e75;
  // Steele, Vigna, "Computationally easy, spectrally good multipliers", 2021.
  static constexpr uint64_t kMultiplier = 0xda942042e4dd58b5;

  explicit RatelessMapping(uint64_t id) : state_(Mix64(id ^ kSeed) | 1) {}

  // Starts at 0.
  uint64_t index() const { return index_; }

  void Advance() {
    state_ *= kMultiplier;
    const double u = static_cast<double>((state_ >> 32) + 1);  // in units of 2^-32
    const double i = static_cast<double>(index_);
    const double quotient = (i + 1) * (i + 2) * 0x1p32 / u;
    const double next = std::ceil(std::sqrt(quotient + 0.25) - 1.5);
    // Beyond 2^48, where nobody goes, the sequence only counts on.
    index_ = next < 0x1p48 ? std::max(static_cast<uint64_t>(next), index_ + 1) : index_ + kFar;
  }

 private:
  static constexpr uint64_t kFar = uint64_t{1} << 48;

  uint64_t state_;
  uint64_t index_ = 0;
};

// A RatelessCell in two words, so that a key is added by one addition of 16 bytes.
struct alignas(16) PackedRatelessCell {
  uint64_t ids = 0;
  uint64_t checks_and_count = 0;  // checks in the upper half; the count must stay below 2^32
};

inline constexpr size_t kMostKernelSymbols = size_t{1} << 20;

// Adds the keys with these ids to the symbols 0 .. symbols - 1; cells[symbols] is scratch.
// REQUIRES: 1 <= symbols <= kMostKernelSymbols, count < 2^32.
using RatelessKernel = void (*)(const uint64_t* ids, size_t count, size_t symbols,
                                PackedRatelessCell* cells);

#if defined(__x86_64__)
void AddRatelessKeysByAvx512(const uint64_t* ids, size_t count, size_t symbols,
                             PackedRatelessCell* cells);
#endif

// REQUIRES: isa is one of UsableIsas().
RatelessKernel RatelessKernelFor(Isa isa);

// That of ActiveIsa().
RatelessKernel ActiveRatelessKernel();

}  // namespace rocksieve
