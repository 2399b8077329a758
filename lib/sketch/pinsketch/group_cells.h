// SPDX-License-Identifier: Apache-2.0
// The cells of one group at a time, as bits: which of them hold an odd number of a side's keys, one
// key, or none; and which of them were named.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/sketch/pinsketch/cells.h"

namespace rocksieve::pinsketch {

// Work on a group takes time by its entries, however many cells it has.
class GroupCells {
 public:
  explicit GroupCells(int field_bits)
      : words_(((size_t{1} << field_bits) + 63) / 64), touched_((words_.size() + 63) / 64) {}

  // From now on speaks of the cells of these, of which none is named.
  void Take(std::span<const CellEntry> entries);

  // Odd ones become even, and the other way round.
  void Flip(uint32_t id) {
    words_[id / 64].odd ^= BitOf(id);
    Touch(id);
  }
  void Name(uint32_t id) {
    words_[id / 64].named |= BitOf(id);
    Touch(id);
  }

  bool IsNamed(uint32_t id) const { return (words_[id / 64].named & BitOf(id)) != 0; }
  // The entries that were taken have one with this id.
  bool HoldsOneKey(uint32_t id) const {
    const Word& word = words_[id / 64];
    return (word.held & ~word.shared & BitOf(id)) != 0;
  }
  size_t OddCells() const {
    size_t cells = 0;
    ForEachTouched(
        [&](size_t word) { cells += static_cast<size_t>(std::popcount(words_[word].odd)); });
    return cells;
  }
  // visit(id, is_empty), ascending; may name cells.
  template <typename Visit>
  void ForEachOdd(Visit visit) const {
    ForEachTouched([&](size_t at) {
      const uint64_t held = words_[at].held;
      for (uint64_t bits = words_[at].odd; bits != 0; bits &= bits - 1) {
        const int bit = std::countr_zero(bits);
        visit(static_cast<uint32_t>(64 * at) + static_cast<uint32_t>(bit), (held >> bit & 1) == 0);
      }
    });
  }

 private:
  // Of 64 cells.
  struct Word {
    uint64_t odd = 0, held = 0, shared = 0, named = 0;
  };

  static uint64_t BitOf(uint32_t id) { return uint64_t{1} << (id % 64); }
  void Touch(uint32_t id) { touched_[id / 4096] |= uint64_t{1} << (id / 64 % 64); }
  void Add(uint32_t id) {
    Word& word = words_[id / 64];
    const uint64_t bit = BitOf(id);
    word.odd ^= bit;
    word.shared |= word.held & bit;
    word.held |= bit;
  }
  template <typename Visit>
  void ForEachTouched(Visit visit) const {
    for (size_t i = 0; i < touched_.size(); i++) {
      for (uint64_t bits = touched_[i]; bits != 0; bits &= bits - 1) {
        visit(64 * i + static_cast<size_t>(std::countr_zero(bits)));
      }
    }
  }

  std::vector<Word> words_;
  std::vector<uint64_t> touched_;  // bit i: words_[i] may have bits
};

}  // namespace rocksieve::pinsketch
