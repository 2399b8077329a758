// SPDX-License-Identifier: Apache-2.0
// What bits buy: the curves of all families, the hull of several, and reads through a block cache.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/budget/cache_reads.h"
#include "lib/budget/hull.h"
#include "lib/filter/family.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// The curves of all families, beside filters that are really built.

TEST(RateCurve, RisesInBitsAndFallsInRate) {
  for (const FamilyEntry* family : {&kBloomFamily, &kCuckooFamily, &kRibbonFamily, &kRangeFamily}) {
    for (const uint64_t keys : {1u, 64u, 65u, 1000u, 100000u}) {
      SCOPED_TRACE(std::string(family->name) + " " + std::to_string(keys));
      const std::vector<RatePoint> curve = RateCurve(family->family, keys);
      ASSERT_FALSE(curve.empty());
      for (size_t i = 1; i < curve.size(); i++) {
        EXPECT_GT(curve[i].bits_per_key, curve[i - 1].bits_per_key);
        EXPECT_LE(curve[i].rate, curve[i - 1].rate);
      }
    }
  }
}

TEST(RateCurve, NoFilterIsOnePoint) {
  const std::vector<RatePoint> curve = RateCurve(Family::kNone, 1000);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].bits_per_key, 0);
  EXPECT_EQ(curve[0].rate, 1);
}

// Builds what the curve's points ask for.
TEST(RateCurve, IsWhatFiltersTake) {
  for (const Family family : {Family::kBloom, Family::kCuckoo, Family::kRibbon}) {
    for (const size_t keys : {200u, 5000u, 50000u}) {
      const std::vector<std::string> names = NumberedKeys(keys);
      const std::vector<RatePoint> curve = RateCurve(family, keys);
      for (size_t i = 3; i < curve.size(); i += 7) {
        FilterSpec spec;
        spec.family = family;
        spec.amount = curve[i].setting;
        SCOPED_TRACE(spec.ToString() + " of " + std::to_string(keys));
        const FilterBlock block = BuildFilter(spec, names);
        const double bits = 8.0 * static_cast<double>(block.size) / static_cast<double>(keys);
        EXPECT_NEAR(bits, curve[i].bits_per_key, 0.04 * bits + 500.0 / static_cast<double>(keys));
        const double rate = ExpectedFalsePositiveRate(OpenFilter(block.view()).info);
        if (keys >= 5000) {
          EXPECT_NEAR(rate / curve[i].rate, 1, keys == 5000 ? 0.25 : 0.08);
        }
      }
    }
  }
}

// The hull of several families, beside a search of all their points.

const std::vector<Family> kOurs = {Family::kBloom, Family::kCuckoo, Family::kRibbon};
const std::vector<Family> kTwo = {Family::kBloom, Family::kCuckoo};

class HullOf : public testing::TestWithParam<std::tuple<std::vector<Family>, uint64_t>> {
 protected:
  HullOf() {
    for (const Family family : families_) curves_.push_back(RateCurve(family, keys_));
  }

  const CostModel costs_;
  const std::vector<Family> families_ = std::get<0>(GetParam());
  const uint64_t keys_ = std::get<1>(GetParam());
  const Hull hull_{families_, keys_, costs_};

  // The least cost + price * bits of all points of all families.
  double LeastByHand(double price) const {
    double least = 1 + price * hull_.fixed_bits();  // no filter
    for (size_t i = 0; i < families_.size(); i++) {
      for (const RatePoint& point : curves_[i]) {
        least = std::min(
            least, point.rate + costs_.ProbeCharge(families_[i]) + price * point.bits_per_key);
      }
    }
    return least;
  }

  std::vector<std::vector<RatePoint>> curves_;
};

TEST_P(HullOf, BitsAreTheBestForThePrice) {
  double last_bits = 1e9;
  double worst = 1;
  for (double log_price = -14; log_price < 1; log_price += 0.01) {
    const double price = std::exp(log_price);
    const double bits = hull_.BitsAtLog(log_price);
    EXPECT_LE(bits, last_bits);
    last_bits = bits;
    const double cost = hull_.CostAt(bits) + price * bits;
    EXPECT_GE(cost, LeastByHand(price) * (1 - 1e-9));
    worst = std::max(worst, cost / LeastByHand(price));
  }
  EXPECT_LT(worst, 1.02);
}

TEST_P(HullOf, IsConvexAndFalls) {
  const auto& vertices = hull_.vertices();
  EXPECT_EQ(vertices.front().family, Family::kNone);
  for (size_t i = 2; i < vertices.size(); i++) {
    const auto slope = [&](size_t at) {
      return (vertices[at - 1].cost - vertices[at].cost) /
             (vertices[at].bits - vertices[at - 1].bits);
    };
    EXPECT_GT(slope(i), 0);
    EXPECT_GT(slope(i - 1), slope(i));
  }
}

TEST_P(HullOf, ChoicesCostWhatTheHullPromises) {
  for (double bits = 3; bits < hull_.vertices().back().bits; bits += 0.1) {
    const FilterChoice choice = hull_.Choose(bits);
    EXPECT_NEAR(choice.bits_per_key, bits, 0.3 + 600.0 / static_cast<double>(keys_));
    EXPECT_NEAR((choice.rate + costs_.ProbeCharge(choice.family)) / hull_.CostAt(bits), 1, 0.4)
        << bits << " " << static_cast<int>(choice.family);
  }
  EXPECT_EQ(hull_.Choose(hull_.fixed_bits()).family, Family::kNone);
}

INSTANTIATE_TEST_SUITE_P(Families, HullOf,
                         testing::Combine(testing::Values(kOurs, kTwo),
                                          testing::Values(500, 10000, 1000000)));

TEST(Hull, ProbesThatCostAsMuchAsReadsAreNotBought) {
  CostModel costs;
  costs.read_ns = 1;
  EXPECT_EQ(Hull(kOurs, 10000, costs).BitsAtLog(std::log(1e-9)),
            FrameBitsOfFilter(Family::kRibbon, 10000) / 10000);
  costs.read_ns = 8e7;
  EXPECT_EQ(Hull(kOurs, 10000, costs).Choose(10).family, Family::kRibbon);
  // With the most bits, rates are so low that the quicker probe is all that matters.
  const Hull hull(kOurs, 10000, CostModel());
  EXPECT_EQ(hull.Choose(hull.BitsAtLog(std::log(1e-12))).family, Family::kBloom);
}

TEST(Hull, OfNothingIsNoFilter) {
  const Hull hull({}, 1000, CostModel());
  EXPECT_EQ(hull.BitsAtLog(std::log(1e-6)), 0);
  EXPECT_EQ(hull.Choose(10).family, Family::kNone);
  EXPECT_EQ(hull.CostAt(5), 1);
}

// The model of a block cache beside what was measured, and the budget that it advises.
// `./run bench cache` compares it with RocksDB's cache.

// A level of equal files that cover all keys, and smaller ones above.
CachedTree TreeOf(int levels, uint64_t keys_per_file) {
  static std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (int i = 0; i <= 1000; i++) {
      char text[24];
      std::snprintf(text, sizeof(text), "%016llx", i * 0x4000000000000ULL * 16);
      all.push_back(text);
    }
    return all;
  }();
  CachedTree tree;
  for (int level = 1, files = 100; level <= levels; level++, files /= 10) {
    for (int i = 0; i < files; i++) {
      UnfilteredFile file;
      file.file = {keys[1000 / files * i], keys[1000 / files * (i + 1) - 1], keys_per_file,
                   keys_per_file};
      file.index_bytes = static_cast<double>(keys_per_file) * 40 / 4096 * 20;
      tree.files.push_back(file);
    }
  }
  return tree;
}

const Allocator& TheAllocator() {
  static const Allocator allocator((AllocatorOptions()));
  return allocator;
}

TEST(CacheReads, NothingButDataIsReadWhereAllFits) {
  const CachedTree tree = TreeOf(2, 10000);
  const CacheReads reads = ReadsThrough({1e9, 0.5}, WithFilters(TheAllocator(), tree, 1.1e6));
  EXPECT_LT(reads.filters + reads.indexes, 1e-6);
  EXPECT_GT(reads.data, 0);
  EXPECT_NEAR(reads.bytes, reads.data * 4101, 1e-3 * reads.bytes);
}

TEST(CacheReads, WhatFitsInPartIsReadForTheRest) {
  // One filter after another, each asked for as often, of which a half has room.
  std::vector<CachedFile> files(1000);
  for (CachedFile& file : files) file = {.lookup_weight = 1e-3, .rate = 0, .filter_bytes = 9780};
  const CacheReads reads = ReadsThrough({5e6, 0.5}, files);
  EXPECT_NEAR(reads.filters, 0.5, 0.01);
  EXPECT_NEAR(reads.bytes, 0.5 * 9785, 100);
}

TEST(CacheReads, DataPushesFiltersOutUnlessTheyComeFirst) {
  const CachedTree tree = TreeOf(2, 10000);
  const double cache = 900000;
  const std::vector<CachedFile> files = WithFilters(TheAllocator(), tree, 0.9 * cache);
  const CacheReads usual = ReadsThrough({cache, 0.5}, files);
  const CacheReads first = ReadsThrough({cache, 1}, files);
  EXPECT_GT(usual.filters, 10 * first.filters);
  EXPECT_LT(first.bytes, usual.bytes);
  EXPECT_EQ(first.data, usual.data);
}

TEST(CacheReads, TheBestBudgetReadsLeast) {
  for (const uint64_t keys : {3000, 60000}) {
    for (const int partitions : {0, 1, 2}) {
      CachedTree tree = TreeOf(3, keys);
      tree.layout.indexes_partitioned = partitions > 0;
      tree.layout.filters_partitioned = partitions > 1;
      const BlockCache cache = {111 * static_cast<double>(keys) * 10 / 8 * 2 / 3, 1};
      const CacheBudget best = BestBudget(TheAllocator(), {tree}, cache);
      EXPECT_GT(best.bytes, 0.6 * cache.bytes);
      EXPECT_LT(best.bytes, 0.97 * cache.bytes);
      for (double share = 0.5; share < 1.05; share += 0.05) {
        const double budget = share * cache.bytes;
        const CacheReads reads = ReadsThrough(cache, WithFilters(TheAllocator(), tree, budget));
        // The room for 3 % more costs a little.
        EXPECT_LE(best.reads.bytes, 1.15 * reads.bytes)
            << keys << " " << partitions << " " << share;
      }
    }
  }
}

TEST(CacheReads, ABudgetGivesNoMoreThanIsOfUse) {
  const CachedTree tree = TreeOf(2, 10000);
  const double entries = 110 * 10000;
  const CacheBudget best = BestBudget(TheAllocator(), {tree}, {1e8, 1});
  EXPECT_LT(best.bytes, 0.06 * 1e8);  // the smallest that is tried
  double bytes = 0;
  for (const CachedFile& file : WithFilters(TheAllocator(), tree, 1e8)) bytes += file.filter_bytes;
  EXPECT_NEAR(bytes, 2 * entries, 0.01 * bytes);
}

TEST(CacheReads, FilesWithoutFiltersAreReadForEachLookup) {
  CachedTree tree = TreeOf(2, 10000);
  for (UnfilteredFile& file : tree.files) {
    if (&file - tree.files.data() < 100) file.file.budgeted = false;
  }
  const CacheReads reads = ReadsThrough({1e9, 1}, WithFilters(TheAllocator(), tree, 1e6));
  EXPECT_NEAR(reads.data, 1, 0.02);
}

TEST(CacheReads, LookupsGoWhereTheyAreSaidToGo) {
  CachedTree tree = TreeOf(2, 10000);
  for (UnfilteredFile& file : tree.files) file.lookup_weight = 0;
  tree.files[0].lookup_weight = 1;
  EXPECT_LT(ReadsThrough({1e4, 1}, WithFilters(TheAllocator(), tree, 1e6)).filters, 1.001);
  // All have the prefix that the filter is asked for.
  tree.files[0].passed_anyway = 1;
  EXPECT_DOUBLE_EQ(ReadsThrough({1e9, 1}, WithFilters(TheAllocator(), tree, 1e6)).data, 1);
}

TEST(CacheReads, ShardsAreNotFilledEvenly) {
  const CachedTree tree = TreeOf(2, 10000);
  const std::vector<CachedFile> files = WithFilters(TheAllocator(), tree, 1e6);
  double last = 0;
  for (const int shard_bits : {0, 1, 3, 6}) {
    const double filters = ReadsThrough({1.05e6, 1, shard_bits}, files).filters;
    EXPECT_GE(filters, last) << shard_bits;
    last = filters;
  }
  EXPECT_GT(last, 0.1);
  EXPECT_EQ(UsualShardBits(1000), 0);
  EXPECT_EQ(UsualShardBits(1 << 20), 1);
  EXPECT_EQ(UsualShardBits((1 << 20) - 1), 0);
  EXPECT_EQ(UsualShardBits(8 << 20), 4);
  EXPECT_EQ(UsualShardBits(uint64_t{1} << 40), 6);
}

TEST(CacheReads, TreesShareTheCache) {
  CachedTree half = TreeOf(2, 10000);
  half.lookup_share = half.budget_share = 0.5;
  const CacheBudget one = BestBudget(TheAllocator(), {TreeOf(2, 10000)}, {7e5, 1});
  const CacheBudget two = BestBudget(TheAllocator(), {half, half}, {1.4e6, 1});
  EXPECT_NEAR(two.bytes, 2 * one.bytes, 0.02 * two.bytes);
  EXPECT_NEAR(two.reads.bytes, one.reads.bytes, 0.02 * one.reads.bytes);
}

}  // namespace
}  // namespace rocksieve
