// SPDX-License-Identifier: Apache-2.0
// Which filter each file of a tree should have, so that missing keys cost least in a given memory:
// docs/design/auto.md, "The rule".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/budget/hull.h"
#include "lib/budget/lookup_weights.h"

namespace rocksieve {

struct AllocatorOptions {
  double bits_per_entry = 10;  // the budget
  uint64_t bytes = 0;          // the budget instead, unless 0: of all files together
  std::vector<Family> families = {Family::kBloom, Family::kCuckoo, Family::kRibbon};
  CostModel cost_model;
  bool thorough = false;
  // How strongly the next files make up for what earlier ones took too much or too little: by this
  // factor. 1 drifts, 12 overshoots.
  double feedback = 6;

  // That all files of so many entries together are to have. Of a budget of bytes, a small tree does
  // not get all: bits that would save next to nothing.
  double BitsOf(double entries) const;
};

// What is known beyond the files.
struct Outlook {
  // Where lookups go, if they are known to be unlike the live keys. Else null.
  const LookupDensity* lookups = nullptr;
  // For a budget of bytes alone: how soon memory that files have comes back.
  // Bits that go with the inputs of the job that builds the file, less those of outputs that it has
  // finished.
  double freed_bits = 0;
  bool is_flush = false;
  // A file stays as it is until the tree has about doubled, or for good: universal compaction,
  // FIFO.
  bool rewrites_seldom = false;
};

// Immutable, so any number of threads may use it. Making one takes some milliseconds.
class Allocator {
 public:
  explicit Allocator(const AllocatorOptions& options);

  // The filters that are best for the tree if all could be built now, one per file, filter_bits
  // being ignored. Cost: some 0.2 us per file.
  std::vector<FilterChoice> Ideal(const std::vector<BudgetedFile>& files) const;
  // The same with so many bits for all of them instead of the budget.
  std::vector<FilterChoice> Ideal(const std::vector<BudgetedFile>& files, double total_bits) const;

  // The bits per key of the filter for files[next], which is being built, given the filters that
  // the others have: to Choose() from the hull of filters of its size. What they take more or less
  // than in the ideal is made up for. Cost: some 0.1 us per file, twice that with lookups that were
  // heard.
  double DecideBits(const std::vector<BudgetedFile>& files, size_t next,
                    const Outlook& outlook = {}) const;

  // For filters of about so many keys.
  const Hull& HullFor(uint64_t keys) const;

  // For one of several filters of a file, of just so many keys, with the bits per key that the file
  // is to have.
  FilterChoice ChooseForPartition(uint64_t keys, double bits_per_key) const;

  const AllocatorOptions& options() const { return options_; }

 private:
  // Small filters have overheads; beyond 2^kLastHull keys nothing changes.
  static constexpr int kLastHull = 20;
  static int Log2Of(uint64_t keys);  // of the keys of their hull

  double DecideBitsOfBytes(const std::vector<BudgetedFile>& files, size_t next,
                           const Outlook& outlook) const;

  const AllocatorOptions options_;
  std::array<std::unique_ptr<const Hull>, kLastHull + 1> hulls_;  // for 2^i keys
};

}  // namespace rocksieve
