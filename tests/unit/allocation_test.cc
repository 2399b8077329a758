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

#include "lib/budget/allocation.h"
#include "lib/budget/lookup_weights.h"

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
        best = std::min(best, allocator.CostOf(files, {a, b, c}));
      }
    }
    EXPECT_LE(allocator.CostOf(files, BitsOf(ideal)), best * 1.04);
  }
}

// At an optimum no bits can be moved from one file to another with profit.
TEST(Allocation, CannotBeImprovedByMovingBits) {
  for (const int ratio : {3, 4, 10}) {
    const Tree tree = Levels(ratio, 4, 5000);
    const std::vector<BudgetedFile> files = tree.Files();
    const Allocator allocator = AllocatorFor(10);
    const std::vector<double> bits = BitsOf(allocator.Ideal(files));
    const double cost = allocator.CostOf(files, bits);
    std::mt19937_64 random(ratio);
    for (int attempt = 0; attempt < 300; attempt++) {
      const size_t from = random() % files.size(), to = random() % files.size();
      std::vector<double> moved = bits;
      moved[from] -= 0.25;
      moved[to] += 0.25;
      // One file of many matters little, so the gain is compared with what the two cost together.
      const double two = cost / static_cast<double>(files.size());
      EXPECT_GT(allocator.CostOf(files, moved), cost - 0.05 * two) << from << " to " << to;
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
        const double cost = allocator.CostOf(files, BitsOf(allocator.Ideal(files)));
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

TEST(Allocation, GivesSmallerLevelsMoreBits) {
  const Tree tree = Levels(10, 3, 5000);
  const std::vector<BudgetedFile> files = tree.Files();
  const std::vector<double> bits = BitsOf(AllocatorFor(10).Ideal(files));
  EXPECT_GT(bits[0], bits[5] + 2);
  EXPECT_GT(bits[5], bits[50] + 2);
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
    const double bits = AllocatorFor(10).Decide(files, 10).bits_per_key;
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
    bits[next] = allocator.Decide(files, next).bits_per_key;
    files[next].filter_bits = bits[next] * static_cast<double>(files[next].filter_keys);
  }
  double mean = 0;
  for (const BudgetedFile& file : files) mean += file.filter_bits / Entries(files);
  EXPECT_NEAR(mean, 10, 0.2);
  EXPECT_LT(allocator.CostOf(files, bits),
            1.1 * allocator.CostOf(files, BitsOf(allocator.Ideal(files))));
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
  EXPECT_NEAR(AllocatorFor(10).Decide(files, 11).bits_per_key, 10, 0.3);
}

TEST(Allocation, OfOddTrees) {
  const Allocator allocator = AllocatorFor(10);
  EXPECT_TRUE(allocator.Ideal({}).empty());
  Tree tree;
  tree.Add(0.5, 0.5, 1);
  EXPECT_GT(allocator.Decide(tree.Files(), 0).bits_per_key, 4);
  tree.Add(0.5, 0.5, 0, 0);
  tree.Add(0.5, 0.5, 100000, 10);
  for (size_t i = 0; i < 3; i++) {
    const double bits = allocator.Decide(tree.Files(), i).bits_per_key;
    EXPECT_TRUE(std::isfinite(bits)) << bits;
  }
  BudgetedFile nothing;
  EXPECT_TRUE(std::isfinite(allocator.Decide({nothing}, 0).bits_per_key));
}

TEST(Allocation, IsQuickForLargeTrees) {
  const Tree tree = Levels(10, 5, 100000);
  const std::vector<BudgetedFile> files = tree.Files();
  ASSERT_GT(files.size(), 10000u);
  const std::vector<FilterChoice> choices = AllocatorFor(10).Ideal(files);
  EXPECT_NEAR(MeanBits(files, choices), 10, 0.1);
}

}  // namespace
}  // namespace rocksieve
