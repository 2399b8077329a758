// SPDX-License-Identifier: Apache-2.0
// Parity symbols: one level's sums of all groups, of which the receiver knows most, in R symbols
// instead of one per group.
//
// DESCRIPTION. The sender XORs each group's sum into about half of the symbols of a window that
// the group's number chooses (AddToSymbols). The receiver does the same with the sums that it
// knows, which leaves R equations in the unknown sums; SolveLevel finds these if there are a few
// more symbols than unknowns (SymbolsForKnown says how many). If there were not enough, more
// symbols can be had later: another batch, whose windows stand at the same fractions of their
// length, so that all equations together are still a band.
//
// Batches and windows: docs/formats/sketches.md.
//
// Source of the band: P. Dillinger, S. Walzer, "Ribbon filter", 2021, transposed; of codes across
// inner codes: E. Blokh, V. Zyablov, "Coding of generalized concatenated codes", 1974.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rocksieve::pinsketch {

inline constexpr uint32_t kParityWindow = 128;

// Batches of less than 1 / kSmallestShare of the level's largest are not used.
inline constexpr uint32_t kSmallestShare = 8;

// How wide the windows of a batch of `symbols` are, by the size of the level's first batch.
uint32_t WindowOf(uint32_t symbols, uint32_t symbols_of_batch_0);

// Which symbols of a batch a group's sum goes into: `first`, `first` + 1 .. as the bits say.
struct ParityRow {
  uint32_t first;
  uint64_t low, high;
};
struct ParityBatch {
  int level, number;
  uint32_t groups, window;
  std::vector<uint32_t> symbols;

  // REQUIRES: symbols > 0.
  ParityBatch(int the_level, int the_number, uint32_t the_groups, uint32_t symbol_count,
              uint32_t symbols_of_batch_0);
  bool IsPlain() const { return symbols.size() >= groups; }
  ParityRow RowOf(uint32_t group) const;
  // XORs a group's sum into its symbols.
  void AddToSymbols(uint32_t group, uint32_t sum);
};

// Given all batches of one level, with the sums of all groups but `unknown` taken out: finds the
// sums of those. kTooFew: ask for more symbols. kContradiction: some sum that was taken for known
// is wrong. REQUIRES: at least one batch.
enum class ParityResult { kSolved, kTooFew, kContradiction };
ParityResult SolveLevel(std::span<const ParityBatch> batches, std::span<const uint32_t> unknown,
                        std::vector<uint32_t>* sums);

// Symbols that are enough for so many unknowns but for one time in 500, if their number is known,
// or Poisson-distributed with that mean.
uint32_t SymbolsForKnown(double unknowns);
uint32_t SymbolsForExpected(double unknowns);

}  // namespace rocksieve::pinsketch
