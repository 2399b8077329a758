// SPDX-License-Identifier: Apache-2.0
// What character comes next in a set of strings, given those before it: a static model of contexts
// of up to three characters, made from the strings themselves and counted as part of what uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rocksieve::experiments {

// A character is its byte plus one; 0 is the end of a string.
using Symbol = uint16_t;
inline constexpr Symbol kEndSymbol = 0;
inline Symbol SymbolAt(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<Symbol>(static_cast<uint8_t>(text[at]) + 1) : kEndSymbol;
}

// Integer frequencies of symbols, in their order. They add up to kTotal.
class Distribution {
 public:
  static constexpr int kTotalBits = 14;
  static constexpr uint32_t kTotal = 1 << kTotalBits;
  // Of a stored symbol's frequency: its logarithm, in halves of a bit.
  static constexpr uint64_t kBitsPerFrequency = 5;

  struct Part {
    uint32_t begin = 0, size = 0;  // of kTotal; size 0: it never comes
    double bits() const;           // its code length
  };

  Distribution() = default;
  // REQUIRES: not empty, the counts are not zero.
  explicit Distribution(const std::unordered_map<Symbol, uint64_t>& counts);

  Part PartOf(Symbol symbol) const;
  // That whose part contains `place`. REQUIRES: place < kTotal.
  Symbol SymbolAtPlace(uint32_t place, Part* part) const;
  size_t symbols() const { return symbols_.size(); }

 private:
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> begins_;  // one more, kTotal
};

class ContextModel {
 public:
  // Learns from each distinct prefix of the sorted strings once, and their ends. Contexts that save
  // less than they take are left out: `worth` of the bits that an exact code would save by one are
  // held against those that it takes.
  ContextModel(const std::vector<std::string>& sorted, double worth);

  // With the largest worth, of that and its halves, for which it takes at most so many bits; if
  // even few contexts are too many, with none.
  static ContextModel Within(const std::vector<std::string>& sorted, double worth,
                             double most_bits);

  // That tell which of all symbols of the strings it is.
  uint64_t bits_per_symbol() const { return bits_per_symbol_; }

  // Of the character at `at`. A symbol that it does not have comes in no string after this context.
  const Distribution& After(std::string_view text, size_t at) const;

  uint64_t size_bits() const { return size_bits_; }

 private:
  static constexpr size_t kMostOrder = 3;

  // The distributions of contexts of two characters, or of those shorter ones that stand for them,
  // and of longer ones.
  std::vector<uint32_t> of_two_;
  std::unordered_map<uint32_t, uint32_t> of_three_;
  std::vector<bool> has_longer_;  // whether any context of three ends with these two
  std::vector<Distribution> distributions_;
  uint64_t bits_per_symbol_ = 0;
  uint64_t size_bits_ = 0;
};

// Bytes that two strings have in common at their beginning.
size_t CommonBytes(std::string_view a, std::string_view b);

}  // namespace rocksieve::experiments
