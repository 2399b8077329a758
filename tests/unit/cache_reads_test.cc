// SPDX-License-Identifier: Apache-2.0
// The model of a block cache beside what was measured, and the budget that it advises.
// `./run bench cache` compares it with RocksDB's cache.
#include "lib/budget/cache_reads.h"

#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

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
