// SPDX-License-Identifier: Apache-2.0
// The pool beside a list of what is lent: no two blocks overlap, none loses what was written, and
// what is touched is no more than was lent at some time, but for parts of pages.
#include "lib/memory/page_pool.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>


namespace rocksieve {
namespace {

constexpr size_t kPageBytes = size_t{2} << 20;
constexpr size_t kRegionBytes = 64 * kPageBytes;

struct LentBlock {
  unsigned char* begin;
  size_t bytes;
  unsigned char fill;
};

LentBlock Lend(PagePool* pool, size_t bytes, unsigned char fill) {
  const LentBlock block = {static_cast<unsigned char*>(pool->Lend(bytes)), bytes, fill};
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.begin) % PagePool::kAlignment, 0u);
  std::memset(block.begin, fill, bytes);
  return block;
}

bool IsWhole(const LentBlock& block) {
  return std::all_of(block.begin, block.begin + block.bytes,
                     [&](unsigned char byte) { return byte == block.fill; });
}

TEST(PagePool, WithoutAUserNothingLiesInTheRegion) {
  PagePool pool(kRegionBytes);
  const LentBlock block = Lend(&pool, 3 * kPageBytes, 1);
  EXPECT_EQ(pool.lent_bytes(), 0u);
  EXPECT_EQ(pool.touched_bytes(), 0u);
  const PagePool::User user(&pool);
  pool.TakeBack(block.begin, block.bytes);
  EXPECT_EQ(pool.lent_bytes(), 0u);
}

TEST(PagePool, ABlockIsUsedAgainAndGoesWithTheLastUser) {
  PagePool pool(kRegionBytes);
  std::optional<PagePool::User> user(&pool), other(&pool);
  const LentBlock block = Lend(&pool, 3 * kPageBytes, 1);
  EXPECT_EQ(pool.lent_bytes(), 3 * kPageBytes);
  pool.TakeBack(block.begin, block.bytes);
  EXPECT_EQ(pool.touched_bytes(), 3 * kPageBytes);
  const LentBlock smaller = Lend(&pool, kPageBytes, 2);
  EXPECT_EQ(smaller.begin, block.begin);
  EXPECT_EQ(pool.touched_bytes(), 3 * kPageBytes);
  other.reset();
  EXPECT_EQ(pool.touched_bytes(), kPageBytes) << "what nobody uses goes with each user";
  user.reset();
  EXPECT_TRUE(IsWhole(smaller)) << "what is lent outlives all users";
  pool.TakeBack(smaller.begin, smaller.bytes);
  EXPECT_EQ(pool.lent_bytes(), 0u);
  EXPECT_EQ(pool.touched_bytes(), 0u);
}

TEST(PagePool, WhatNobodyUsesIsGivenBackForWhatIsTouched) {
  PagePool pool(kRegionBytes);
  const PagePool::User user(&pool);
  const LentBlock first = Lend(&pool, 4 * kPageBytes, 1);
  const LentBlock wall = Lend(&pool, kPageBytes, 2);
  pool.TakeBack(first.begin, first.bytes);
  // Does not fit before the wall; what was there is not needed beside it.
  const LentBlock large = Lend(&pool, 5 * kPageBytes, 3);
  EXPECT_GT(large.begin, wall.begin);
  EXPECT_EQ(pool.touched_bytes(), 6 * kPageBytes);
  EXPECT_TRUE(IsWhole(wall));
  pool.TakeBack(wall.begin, wall.bytes);
  pool.TakeBack(large.begin, large.bytes);
}

TEST(PagePool, MoreThanTheRegionComesFromTheAllocator) {
  PagePool pool(kRegionBytes);
  const PagePool::User user(&pool);
  const LentBlock block = Lend(&pool, kRegionBytes + 1, 1);
  EXPECT_EQ(pool.lent_bytes(), 0u);
  EXPECT_TRUE(IsWhole(block));
  pool.TakeBack(block.begin, block.bytes);
}

TEST(PagePool, BlocksKeepApartInAnyOrder) {
  PagePool pool(kRegionBytes);
  std::mt19937_64 random(1);
  std::optional<PagePool::User> user(&pool);
  std::vector<LentBlock> lent;
  uint64_t lent_bytes = 0, most_lent_bytes = 0;
  for (int i = 0; i < 3000; i++) {
    if (lent.empty() || (random() % 2 == 0 && lent_bytes < kRegionBytes / 2)) {
      const size_t bytes = PagePool::kLeastBytes + random() % (kPageBytes * (1 + random() % 4));
      lent.push_back(Lend(&pool, bytes, static_cast<unsigned char>(random())));
      lent_bytes += bytes;
    } else {
      std::swap(lent[random() % lent.size()], lent.back());
      ASSERT_TRUE(IsWhole(lent.back()));
      pool.TakeBack(lent.back().begin, lent.back().bytes);
      lent_bytes -= lent.back().bytes;
      lent.pop_back();
    }
    most_lent_bytes = std::max(most_lent_bytes, lent_bytes);
    // A page for each end of a block.
    ASSERT_LE(pool.touched_bytes(), most_lent_bytes + 2 * (lent.size() + 2) * kPageBytes);
  }
  for (const LentBlock& block : lent) {
    EXPECT_TRUE(IsWhole(block));
    pool.TakeBack(block.begin, block.bytes);
  }
  EXPECT_EQ(pool.lent_bytes(), 0u);
  user.reset();
  EXPECT_EQ(pool.touched_bytes(), 0u);
}

TEST(PagePool, ThreadsShareIt) {
  std::vector<std::thread> threads;
  for (unsigned char t = 0; t < 4; t++) {
    threads.emplace_back([t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 50; i++) {
        const PagePool::User user;
        PageVector<unsigned char> bytes(PagePool::kLeastBytes + random() % kPageBytes, t);
        bytes.resize(bytes.size() / 2);
        bytes.shrink_to_fit();
        EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [t](int byte) { return byte == t; }));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rocksieve
