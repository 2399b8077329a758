// SPDX-License-Identifier: Apache-2.0
// Bits for hashes, as many for each as its owner likes, kept as the solution of linear equations
// over GF(2): each bit of an entry is the parity of some of 128 neighbouring bits. Hashes that were
// not entered get random bits.
//
// With all bits zero it is a filter: no key is lost, and an absent hash passes k bits at 2^-k
// (P. Dillinger, L. Hübschle-Schneider, P. Sanders, S. Walzer, "Fast succinct retrieval and
// approximate membership using ribbon", 2022: the homogeneous ribbon filter; there all keys have
// the same number of bits). With values it is a retrieval structure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocksieve::experiments {

class BitRibbon {
 public:
  struct Entry {
    uint64_t hash = 0;
    uint32_t bits = 0;   // at most 24
    uint32_t value = 0;  // its lowest `bits` bits
  };

  // Slots beyond one for each bit, as a share: below it, filters pass more than 2^-k.
  static constexpr double kSpare = 0.04;

  // Builds it anew. Returns the entries whose value it does not hold: few, and none if all values
  // are zero, or if hashes are equal and their values too. Memory: 32 bytes per bit meanwhile.
  std::vector<Entry> Build(const std::vector<Entry>& entries, double spare = kSpare);

  uint32_t Get(uint64_t hash, uint32_t bits) const;
  bool AreZero(uint64_t hash, uint32_t bits) const;
  uint64_t size_bits() const { return slots_ + 128; }

 private:
  uint64_t StartOf(uint64_t hash) const;
  uint32_t GetBit(uint64_t hash, uint32_t bit) const;

  uint64_t slots_ = 0;  // places at which an equation may begin
  std::vector<uint64_t> solution_;
};

}  // namespace rocksieve::experiments
