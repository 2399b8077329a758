// SPDX-License-Identifier: Apache-2.0
// Where the keys of a tree lie: keys as numbers, and the shares of its files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rocksieve {

// Made from a sample of keys: the prefix that all have in common says nothing, and the bytes after
// it are the digits of a number, in base 10 where only decimal digits occur, 16 where only
// hexadecimal ones do, and so on. Keeps the keys' bytewise order, though it may take keys for equal
// that differ late.
class KeyScale {
 public:
  // A sample of no keys is allowed.
  explicit KeyScale(const std::vector<std::string_view>& sample);

  // 0 to 1. No less for a greater key, of those in the sample.
  double PositionOf(std::string_view key) const;

 private:
  struct Digit {
    std::array<uint8_t, 256> value;
    uint64_t unit;  // weight of one step of the value, of 2^63
  };

  size_t prefix_size_ = 0;
  std::vector<Digit> digits_;
};

// How the keys of a tree are distributed, as far as the ranges of its files tell.
//
// A lookup of a missing key meets a file if the key lies between the file's smallest and largest.
// If missing keys are distributed like the live ones, its probability is the share of the tree's
// entries that lie there, whatever level the file is at: that is the file's lookup weight.
//
// Where a file's entries lie inside its range is known only roughly: the ends of all ranges divide
// the key space into cells, and a file's entries are spread over its cells in proportion to their
// width, seen as numbers in the alphabet that the keys use, and for a small part evenly, in case
// those numbers say little. Where lookups were heard to go elsewhere, a density of them per entry
// says so (lookup_density.h).

// A file of a tree, real or to come.
struct BudgetedFile {
  std::string_view smallest, largest;  // in either order
  uint64_t entries = 0;      // that count towards the budget: tombstones and old versions included
  uint64_t filter_keys = 0;  // distinct keys and prefixes of its filter
  // Bits of the filter that it has; negative if its bits are still to be decided.
  double filter_bits = -1;
  // Whether its entries bring memory to the budget, and its filter takes of it. Others, whose
  // filters somebody else made, only say where the keys are.
  bool budgeted = true;
};

class LookupDensity;

// The lookup weight of each file, 0 to 1. Missing keys are taken to be distributed like the live
// ones: it is at least the file's share of the entries. Files without entries have the share of
// their range. Cost: some 0.1 us per file.
std::vector<double> LookupWeights(const std::vector<BudgetedFile>& files);

// Those, and those with a density of lookups. Cost: some 0.1 us per file more.
struct BothLookupWeights {
  std::vector<double> even, heard;
};
BothLookupWeights LookupWeightsBothWays(const std::vector<BudgetedFile>& files,
                                        const LookupDensity& density);

// The key space of a tree, divided by the ends of its files' ranges, and where entries lie in it.

// Cells first to last, the last one excluded.
struct CellRange {
  size_t first = 0, last = 0;
};

// The cells between the ends of the files' ranges, in order: one at each distinct end, of no width,
// and one between it and the next: the ranges include their ends, so files that meet in a key
// overlap there, and files of one key have a place. Holds views of the files' keys.
class KeyCells {
 public:
  explicit KeyCells(const std::vector<BudgetedFile>& files);

  size_t count() const { return keys_.empty() ? 0 : 2 * keys_.size() - 1; }
  // The keys where it begins and ends, the same for a cell of no width; and these as positions.
  std::string_view first_key(size_t cell) const { return ends_[keys_[cell / 2]]; }
  std::string_view last_key(size_t cell) const { return ends_[keys_[(cell + 1) / 2]]; }
  double begin(size_t cell) const { return positions_[cell / 2]; }
  double end(size_t cell) const { return positions_[(cell + 1) / 2]; }
  double width(size_t cell) const { return end(cell) - begin(cell); }
  double WidthOf(CellRange range) const { return end(range.last - 1) - begin(range.first); }
  // The cells that a file's entries lie in.
  CellRange RangeOf(size_t file) const { return ranges_[file]; }
  // On which the positions are.
  const KeyScale& scale() const { return scale_; }

  // Entries in all cells before each, and in all of them: a file's are spread over its cells in
  // proportion to their width, and for a small part evenly.
  std::vector<double> EntriesBefore(const std::vector<BudgetedFile>& files) const;

 private:
  std::vector<std::string_view> ends_;
  KeyScale scale_;
  std::vector<CellRange> ranges_;
  std::vector<uint32_t> keys_;     // distinct, in order, as places in ends_
  std::vector<double> positions_;  // of the keys
};

}  // namespace rocksieve
