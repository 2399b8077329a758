// SPDX-License-Identifier: Apache-2.0
// Allocation of bits to the files of a tree, beside a search of all allocations, and beside the
// conditions that every optimum meets.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rocksieve/filter.h>

#include "lib/budget/allocation.h"
#include "lib/budget/auto_spec.h"
#include "lib/budget/lookup_weights.h"
#include "lib/filter/builder.h"
#include "lib/filter/family.h"

namespace rocksieve {
namespace {

std::string Key(double position) {
  char text[32];
  std::snprintf(text, sizeof(text), "%09d", static_cast<int>(position * 1e8));
  return text;
}

// Owns the keys that the files' ranges point to.
class Tree {
 public:
  void Add(double from, double to, uint64_t entries, double filter_bits_per_key = -1) {
    ranges_.push_back({Key(from), Key(to)});
    BudgetedFile file;
    file.entries = file.filter_keys = entries;
    file.filter_bits = filter_bits_per_key * static_cast<double>(entries);
    files_.push_back(file);
  }
  // Valid as long as the tree.
  std::vector<BudgetedFile> Files() const& {
    std::vector<BudgetedFile> files = files_;
    for (size_t i = 0; i < files.size(); i++) {
      files[i].smallest = ranges_[i].first;
      files[i].largest = ranges_[i].second;
    }
    return files;
  }

 private:
  std::vector<std::pair<std::string, std::string>> ranges_;
  std::vector<BudgetedFile> files_;
};

FilterChoice Decide(const Allocator& allocator, const std::vector<BudgetedFile>& files, size_t next,
                    const Outlook& outlook = {}) {
  return allocator.HullFor(files[next].filter_keys)
      .Choose(allocator.DecideBits(files, next, outlook));
}

// Reads that a missing key costs, with these bits per key in each file.
double CostOf(const Allocator& allocator, const std::vector<BudgetedFile>& files,
              const std::vector<double>& bits_per_key) {
  const std::vector<double> shares = LookupWeights(files);
  double cost = 0;
  for (size_t i = 0; i < files.size(); i++) {
    cost += shares[i] * allocator.HullFor(files[i].filter_keys).CostAt(bits_per_key[i]);
  }
  return cost;
}

double Entries(const std::vector<BudgetedFile>& files) {
  double entries = 0;
  for (const BudgetedFile& file : files) entries += static_cast<double>(file.entries);
  return entries;
}

Allocator AllocatorFor(double bits,
                       std::vector<Family> families = {Family::kBloom, Family::kRibbon}) {
  AllocatorOptions options;
  options.bits_per_entry = bits;
  options.families = std::move(families);
  return Allocator(options);
}

Tree Levels(int ratio, int levels, uint64_t entries_per_file) {
  Tree tree;
  int files = 1;
  for (int level = 0; level < levels; level++, files *= ratio) {
    for (int i = 0; i < files; i++) {
      tree.Add(1.0 * i / files, (i + 0.999) / files, entries_per_file);
    }
  }
  return tree;
}

double MeanBits(const std::vector<BudgetedFile>& files, const std::vector<FilterChoice>& choices) {
  double bits = 0;
  for (size_t i = 0; i < files.size(); i++) {
    bits += choices[i].bits_per_key * static_cast<double>(files[i].filter_keys);
  }
  return bits / Entries(files);
}

std::vector<double> BitsOf(const std::vector<FilterChoice>& choices) {
  std::vector<double> bits;
  for (const FilterChoice& choice : choices) bits.push_back(choice.bits_per_key);
  return bits;
}

TEST(Allocation, IsNoWorseThanTheBestOfAllSteps) {
  Tree tree;
  tree.Add(0, 1, 100);
  tree.Add(0, 0.5, 800);
  tree.Add(0.5, 1, 1200);
  const std::vector<BudgetedFile> files = tree.Files();
  for (const double budget : {3.0, 6.0, 10.0, 14.0}) {
    SCOPED_TRACE(budget);
    const Allocator allocator = AllocatorFor(budget);
    const std::vector<FilterChoice> ideal = allocator.Ideal(files);
    EXPECT_LE(MeanBits(files, ideal), budget * 1.01);
    double best = 1e9;
    for (double a = 0; a < 36; a += 0.25) {
      for (double b = 0; b < 24; b += 0.125) {
        const double c = (budget * Entries(files) - 100 * a - 800 * b) / 1200;
        if (c < 0) continue;
        best = std::min(best, CostOf(allocator, files, {a, b, c}));
      }
    }
    EXPECT_LE(CostOf(allocator, files, BitsOf(ideal)), best * 1.04);
  }
}

// At an optimum no bits can be moved from one file to another with profit.
TEST(Allocation, CannotBeImprovedByMovingBits) {
  for (const int ratio : {3, 4, 10}) {
    const Tree tree = Levels(ratio, 4, 5000);
    const std::vector<BudgetedFile> files = tree.Files();
    const Allocator allocator = AllocatorFor(10);
    const std::vector<double> bits = BitsOf(allocator.Ideal(files));
    const double cost = CostOf(allocator, files, bits);
    std::mt19937_64 random(ratio);
    for (int attempt = 0; attempt < 300; attempt++) {
      const size_t from = random() % files.size(), to = random() % files.size();
      std::vector<double> moved = bits;
      moved[from] -= 0.25;
      moved[to] += 0.25;
      // One file of many matters little, so the gain is compared with what the two cost together.
      const double two = cost / static_cast<double>(files.size());
      EXPECT_GT(CostOf(allocator, files, moved), cost - 0.05 * two) << from << " to " << to;
    }
  }
}

// Reads per missing key, probes included, if all files have the same filter.
double UniformCost(const std::vector<BudgetedFile>& files, Family family, double bits,
                   const CostModel& costs) {
  const Hull hull({family}, files[0].filter_keys, costs);  // all have as many
  double met = 0;
  for (const double share : LookupWeights(files)) met += share;
  return met * (hull.Choose(bits).rate + costs.ProbeCharge(family));
}

// At every budget; with the price of probes, and without. Where all files are alike there is
// nothing to gain, and the stretches of the hull (hull.h) cost up to 1.3 %.
TEST(Allocation, IsNeverDearerThanUniformFilters) {
  for (const int ratio : {1, 4, 10}) {
    const Tree tree = Levels(ratio, 3, 50000);
    const std::vector<BudgetedFile> files = tree.Files();
    for (const bool probes_cost : {false, true}) {
      AllocatorOptions options;
      if (!probes_cost) options.cost_model.read_ns = 1e15;
      for (double budget = 3; budget <= 24; budget += 1.5) {
        options.bits_per_entry = budget;
        const Allocator allocator(options);
        const double cost = CostOf(allocator, files, BitsOf(allocator.Ideal(files)));
        for (const Family family : options.families) {
          const double uniform = UniformCost(files, family, budget, options.cost_model);
          EXPECT_LE(cost, 1.02 * uniform)
              << budget << " family " << static_cast<int>(family) << " ratio " << ratio;
        }
      }
    }
  }
}

TEST(Allocation, MeetsTheBudget) {
  for (const double budget : {4.0, 6.0, 7.3, 10.0, 10.5, 16.0}) {
    for (const int ratio : {1, 2, 10}) {
      const Tree tree = Levels(ratio, 3, 5000);
      const std::vector<BudgetedFile> files = tree.Files();
      EXPECT_NEAR(MeanBits(files, AllocatorFor(budget).Ideal(files)), budget, 0.01 * budget)
          << ratio;
    }
  }
}

// Where files at nearly the same price are taken together. Of the hull's bits, which no choice has
// rounded.
TEST(Allocation, MeetsTheBudgetInLargeTrees) {
  std::mt19937_64 random(1);
  Tree tree;
  for (const int files : {8, 60, 400}) {
    for (int i = 0; i < files; i++) {
      tree.Add((i + 0.05 * static_cast<double>(random() % 10)) / files, (i + 0.9) / files,
               5000 + random() % 90000);
    }
  }
  const std::vector<BudgetedFile> files = tree.Files();
  for (const double budget : {6.0, 10.0, 16.0}) {
    const Allocator allocator = AllocatorFor(budget);
    double bits = 0;
    for (size_t i = 0; i < files.size(); i++) {
      bits += static_cast<double>(files[i].filter_keys) * allocator.DecideBits(files, i);
    }
    EXPECT_NEAR(bits / Entries(files), budget, 1e-3);
  }
}

// A file that overlaps nothing is the last run, whatever its level says.
TEST(Allocation, GivesSequentialFilesTheBudget) {
  Tree tree;
  for (int i = 0; i < 50; i++) tree.Add(i / 50.0, (i + 0.99) / 50, 3000 + 100 * i);
  const std::vector<BudgetedFile> files = tree.Files();
  for (const FilterChoice& choice : AllocatorFor(10).Ideal(files)) {
    EXPECT_NEAR(choice.bits_per_key, 10, 0.3);
  }
}

TEST(Allocation, MakesUpForWhatOthersTook) {
  for (const double has : {8.0, 10.0, 12.0}) {
    Tree tree;
    for (int i = 0; i < 10; i++) tree.Add(i / 10.0, (i + 0.99) / 10, 5000, has);
    tree.Add(0.95, 0.999, 5000);
    const std::vector<BudgetedFile> files = tree.Files();
    const double bits = Decide(AllocatorFor(10), files, 10).bits_per_key;
    if (has == 8.0) {
      EXPECT_GT(bits, 11.5);
    } else if (has == 12.0) {
      EXPECT_LT(bits, 8);
      EXPECT_GE(bits, 4.9);  // but never nothing
    }
  }
}

// Replaces files of a tree one after the other, as compactions do: the budget is kept, and the
// allocation approaches the ideal.
TEST(Allocation, ConvergesAsFilesAreReplaced) {
  std::vector<BudgetedFile> files;
  const Tree tree = Levels(6, 3, 4000);
  const Allocator allocator = AllocatorFor(10);
  for (const BudgetedFile& file : tree.Files()) {
    files.push_back(file);
    files.back().filter_bits = 14.0 * static_cast<double>(file.filter_keys);
  }
  std::mt19937_64 random(5);
  std::vector<double> bits(files.size(), 14);
  for (size_t step = 0; step < 12 * files.size(); step++) {
    const size_t next = step < files.size() ? step : random() % files.size();
    files[next].filter_bits = -1;
    bits[next] = Decide(allocator, files, next).bits_per_key;
    files[next].filter_bits = bits[next] * static_cast<double>(files[next].filter_keys);
  }
  double mean = 0;
  for (const BudgetedFile& file : files) mean += file.filter_bits / Entries(files);
  EXPECT_NEAR(mean, 10, 0.2);
  EXPECT_LT(CostOf(allocator, files, bits),
            1.1 * CostOf(allocator, files, BitsOf(allocator.Ideal(files))));
}

TEST(Allocation, SpendsWhatPrefixFiltersSave) {
  Tree tree;
  tree.Add(0, 0.5, 10000);
  tree.Add(0.5, 1, 10000);
  std::vector<BudgetedFile> files = tree.Files();
  files[0].filter_keys = 7000;
  files[1].filter_keys = 7000;
  const std::vector<FilterChoice> choices = AllocatorFor(7).Ideal(files);
  EXPECT_NEAR(choices[0].bits_per_key, 10, 0.4);
}

// What others have built says where the keys are, and takes nothing of the budget.
TEST(Allocation, LeavesFiltersOfOthersOut) {
  Tree tree;
  for (int i = 0; i < 10; i++) tree.Add(i / 10.0, (i + 0.99) / 10, 5000, 20);
  tree.Add(0, 1, 2000, 10);
  tree.Add(0, 1, 2000);
  std::vector<BudgetedFile> files = tree.Files();
  for (int i = 0; i < 10; i++) files[i].budgeted = false;
  EXPECT_NEAR(Decide(AllocatorFor(10), files, 11).bits_per_key, 10, 0.3);
}

// One sorted run, file after file as a compaction writes it: no family alone does better in the
// memory of the budget. Beyond 18 bits a quicker probe is worth more than what is left of reads.
TEST(AllocationOfOneRun, IsAsGoodAsTheBestFamilyAlone) {
  constexpr double kRangeKeysBits = 8 * 32;  // that a block has besides
  for (const uint64_t keys_per_file : {3000, 30000, 200000, 1000000}) {
    std::vector<uint64_t> keys;
    for (const double share : {1.0, 0.97, 1.02, 0.99, 0.3}) {
      keys.push_back(static_cast<uint64_t>(share * static_cast<double>(keys_per_file)));
    }
    double all_keys = 0;
    for (const uint64_t count : keys) all_keys += static_cast<double>(count);
    for (double budget = 3; budget <= 18; budget += 0.75) {
      SCOPED_TRACE(testing::Message() << keys_per_file << " keys, " << budget << " bits");
      AutoSpec spec;
      spec.bits_per_entry = budget;
      const Allocator allocator(spec.ForAllocator());
      Tree tree;
      double done = 0, bits = 0, reads = 0;
      for (size_t i = 0; i < keys.size(); i++) {
        const auto count = static_cast<double>(keys[i]);
        const double from = done / all_keys, to = (done + count) / all_keys;
        Tree with_rest = tree;
        with_rest.Add(from, to - 1e-6, keys[i]);
        done += count;
        if (i + 1 < keys.size()) with_rest.Add(to, 1, static_cast<uint64_t>(all_keys - done));
        const FilterSpec filter = spec.SpecFor(Decide(allocator, with_rest.Files(), i));
        const double took =
            8 * static_cast<double>(EstimateBlockBytes(filter, keys[i])) + kRangeKeysBits;
        tree.Add(from, to - 1e-6, keys[i], took / count);
        bits += took;
        reads += count / all_keys * ExpectedFalsePositiveRate(filter, keys[i]);
      }
      EXPECT_NEAR(bits / all_keys, budget, 0.02 * budget);
      double best = 1;
      for (const FamilyEntry* family : HashedFamilies()) {
        FilterSpec alone;
        alone.family = family->family;
        // Of the same memory as auto has taken.
        alone.amount = (bits - kRangeKeysBits * static_cast<double>(keys.size())) / all_keys;
        if (alone.amount < family->min_bits_per_key) continue;
        double rate = 0;
        for (const uint64_t count : keys) {
          rate += static_cast<double>(count) / all_keys * ExpectedFalsePositiveRate(alone, count);
        }
        best = std::min(best, rate);
      }
      // Small filters are planned as if they had a power of two of keys.
      EXPECT_LE(reads, (keys_per_file < 10000 ? 1.03 : 1.02) * best);
    }
  }
}

// Partitions have frames of their own, in fewer keys than those that the bits were decided for.
TEST(AllocationOfOneRun, IsMetByPartitions) {
  constexpr double kRangeKeysBits = 8 * 12;
  const AutoSpec spec;
  const Allocator allocator(spec.ForAllocator());
  for (const uint64_t keys : {736, 900, 1024, 1400, 2000, 3000}) {
    double wanted = 0, took = 0;
    for (double bits = 2; bits <= 12; bits += 0.125) {
      const FilterSpec filter = spec.SpecFor(allocator.ChooseForPartition(keys, bits));
      wanted += bits * static_cast<double>(keys);
      took += 8 * static_cast<double>(EstimateBlockBytes(filter, keys)) + kRangeKeysBits;
    }
    EXPECT_NEAR(took / wanted, 1, 0.015) << keys << " keys";
  }
}

// A budget of bytes.

Allocator AllocatorForBytes(double bits, double entries) {
  AllocatorOptions options;
  options.bytes = static_cast<uint64_t>(bits * entries / 8);
  return Allocator(options);
}

// Bits that the files have in all.
double Taken(const std::vector<BudgetedFile>& files) {
  double bits = 0;
  for (const BudgetedFile& file : files) bits += std::max(0.0, file.filter_bits);
  return bits;
}

// More would save next to nothing, and be missed when the tree has grown.
TEST(AllocationOfBytes, IsNotUsedUpByASmallTree) {
  Tree tree;
  tree.Add(0, 0.5, 10000);
  tree.Add(0.5, 1, 10000);
  const std::vector<BudgetedFile> files = tree.Files();
  const Allocator allocator = AllocatorForBytes(1000, 20000);
  EXPECT_NEAR(MeanBits(files, allocator.Ideal(files)), 16, 0.2);
  EXPECT_LT(Decide(allocator, files, 0).bits_per_key, 21);
}

// Data in the order of keys is never rewritten: what is left is shared with what is still to come.
TEST(AllocationOfBytes, IsNeverExceededByDataInOrder) {
  const Allocator allocator = AllocatorForBytes(10, 100000);
  Tree tree;
  for (int i = 0; i < 200; i++) tree.Add(i / 1000.0, (i + 0.99) / 1000, 5000);
  const std::vector<BudgetedFile> all = tree.Files();
  std::vector<BudgetedFile> files;
  Outlook outlook;
  outlook.is_flush = true;
  for (const BudgetedFile& file : all) {
    files.push_back(file);
    const FilterChoice choice = Decide(allocator, files, files.size() - 1, outlook);
    files.back().filter_bits = choice.bits_per_key * static_cast<double>(file.filter_keys);
    EXPECT_LE(Taken(files), 8 * static_cast<double>(allocator.options().bytes));
    // Up to three quarters of the data for which all would have 10 bits.
    if (files.size() <= 15) {
      EXPECT_GT(choice.bits_per_key, 2) << files.size();
    }
  }
}

// Files from before with more than the budget.
TEST(AllocationOfBytes, LeavesLittleToWhatComesToFullFiles) {
  Tree tree;
  for (int i = 0; i < 10; i++) tree.Add(i / 10.0, (i + 0.99) / 10, 50000, 20);
  tree.Add(0, 1, 2000);
  std::vector<BudgetedFile> files = tree.Files();
  const Allocator allocator = AllocatorForBytes(10, Entries(files));
  Outlook flush;
  flush.is_flush = true;
  // A small file above them all takes next to nothing, and has its filter.
  EXPECT_GT(Decide(allocator, files, 10, flush).bits_per_key, 5);
  files[10].filter_bits = 10 * 2000;
  // A file that replaces one of them has less, though not nothing.
  Outlook rewrite;
  rewrite.freed_bits = files[3].filter_bits;
  files[3].filter_bits = -1;
  const double bits = Decide(allocator, files, 3, rewrite).bits_per_key;
  EXPECT_LT(bits, 6);
  EXPECT_GT(bits, 4);
}

TEST(AllocationOfBytes, OfOddTrees) {
  for (const double bits : {0.01, 10.0}) {
    const Allocator allocator = AllocatorForBytes(bits, 100000);
    Tree tree;
    tree.Add(0.5, 0.5, 1);
    tree.Add(0.5, 0.5, 0, 0);
    tree.Add(0.5, 0.5, 100000, 10);
    for (const bool seldom : {false, true}) {
      Outlook outlook;
      outlook.rewrites_seldom = seldom;
      for (size_t i = 0; i < 3; i++) {
        const double decided = Decide(allocator, tree.Files(), i, outlook).bits_per_key;
        EXPECT_TRUE(decided >= 0 && decided < 1e4) << decided;
      }
    }
    BudgetedFile nothing;
    EXPECT_TRUE(std::isfinite(Decide(allocator, {nothing}, 0).bits_per_key));
  }
}

}  // namespace
}  // namespace rocksieve
