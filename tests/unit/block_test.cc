// SPDX-License-Identifier: Apache-2.0
// The frame around a payload, and the range of its keys.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "lib/format/key_range.h"
#include "lib/hash/key_hash.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// The frame around a payload: what is ours, what is damaged, what is foreign.

constexpr size_t kCheckFromEnd = 17;

std::string Block(std::string_view spec, size_t keys) {
  return std::string(BuildFilter(Spec(spec), NumberedKeys(keys)).view());
}

BlockState StateOf(std::string_view block) {
  const ExactCopy copy(block);
  return OpenFilter(copy.view()).state;
}

std::string WithFreshCheckWord(std::string block) {
  const size_t at = block.size() - kCheckFromEnd;
  StoreLittleEndian64(block.data() + at, XXH3_64bits(block.data(), at));
  return block;
}

bool KnowsAll(Family) { return true; }

TEST(Block, SaysWhatItHolds) {
  const std::string block = Block("rocksieve.cuckoo:12", 1000);
  FilterBlockInfo info;
  ASSERT_EQ(ParseBlock(block, KnowsAll, &info), BlockState::kIntact);
  EXPECT_EQ(info.family, Family::kCuckoo);
  EXPECT_EQ(info.key_count, 1000u);
  EXPECT_FALSE(info.salted);
  EXPECT_EQ(info.smallest, "key0");
  EXPECT_EQ(info.largest, "key999");
  EXPECT_FALSE(info.largest_cut);
  EXPECT_EQ(info.payload.size() + 35 + 4 + 6, block.size());
}

TEST(Block, StoresTheSaltThatItWasBuiltWith) {
  const std::string block = Block("rocksieve.bloom:10:salted", 10);
  const std::string other = Block("rocksieve.bloom:10:salted", 10);
  FilterBlockInfo info, other_info;
  ASSERT_EQ(ParseBlock(block, KnowsAll, &info), BlockState::kIntact);
  ASSERT_EQ(ParseBlock(other, KnowsAll, &other_info), BlockState::kIntact);
  EXPECT_TRUE(info.salted);
  EXPECT_NE(info.salt, other_info.salt);
  EXPECT_NE(block, other);
}

TEST(Block, EveryFlippedBitIsDamage) {
  for (const char* spec :
       {"rocksieve.bloom:10", "rocksieve.cuckoo:9", "rocksieve.bloom:9:salted"}) {
    for (size_t keys : {0, 1, 20}) {
      std::string block = Block(spec, keys);
      ASSERT_EQ(StateOf(block), BlockState::kIntact);
      for (size_t bit = 0; bit < 8 * block.size(); bit++) {
        block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << bit % 8));
        EXPECT_EQ(StateOf(block), BlockState::kDamaged) << spec << " bit " << bit;
        block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << bit % 8));
      }
    }
  }
}

TEST(Block, EveryTruncationIsDamage) {
  const std::string block = Block("rocksieve.bloom:10", 100);
  for (size_t size = 4; size < block.size(); size++) {
    EXPECT_EQ(StateOf(block.substr(0, size)), BlockState::kDamaged) << "head of " << size;
  }
  for (size_t from = 1; from + 5 <= block.size(); from++) {
    EXPECT_EQ(StateOf(block.substr(from)), BlockState::kDamaged) << "tail from " << from;
  }
}

TEST(Block, AnyOneOfTheThreeMarksIsEnoughToBeOurs) {
  const std::string block = Block("rocksieve.bloom:10", 100);
  const size_t size = block.size();
  const struct { size_t at, bytes; } marks[] = {{0, 4}, {size - 9, 4}, {size - 5, 5}};
  for (const auto& kept : marks) {
    std::string damaged(size, '\x11');
    damaged.replace(kept.at, kept.bytes, block, kept.at, kept.bytes);
    EXPECT_EQ(StateOf(damaged), BlockState::kDamaged) << "only the mark at " << kept.at;
  }
  EXPECT_EQ(StateOf(std::string(size, '\x11')), BlockState::kForeign);
}

TEST(Block, WhatIsNotOursIsForeign) {
  EXPECT_EQ(StateOf(""), BlockState::kForeign);
  EXPECT_EQ(StateOf(std::string(69, '\0')), BlockState::kForeign);
  // The end of a block of RocksDB's Bloom filter with six probes.
  EXPECT_EQ(StateOf(std::string(64, '\x5A') + std::string("\xFF\0\6\0\0", 5)),
            BlockState::kForeign);
}

TEST(Block, WhatALaterVersionWroteIsFromTheFuture) {
  const std::string block = Block("rocksieve.bloom:10", 100);
  const struct {
    size_t at;
    char value;
  } changes[] = {{4, 2}, {5, 5}, {5, 0}, {6, 2}, {6, 3}};
  for (const auto& change : changes) {
    std::string future = block;
    future[change.at] = change.value;
    EXPECT_EQ(StateOf(future), BlockState::kDamaged);
    EXPECT_EQ(StateOf(WithFreshCheckWord(future)), BlockState::kFutureVersion)
        << "byte " << change.at << " = " << int{change.value};
  }
}

// A hostile peer can make the check word right; the contents still must not lead outside.
TEST(Block, ContradictionsUnderARightCheckWordAreDamage) {
  const std::string bloom = Block("rocksieve.bloom:10", 100);
  const std::string cuckoo = Block("rocksieve.cuckoo:10", 5000);
  auto changed = [](std::string block, size_t at, std::string_view bytes) {
    block.replace(at, bytes.size(), bytes);
    return WithFreshCheckWord(block);
  };
  EXPECT_EQ(StateOf(changed(bloom, 7, std::string_view("\0", 1))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(bloom, 7, "\7")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(bloom, bloom.size() - 19, "\x21")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(bloom, bloom.size() - 18, "\x01")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(cuckoo, 7, "\1")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(cuckoo, 7, "\x3D")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(cuckoo, 16, "\xFF\xFF\xFF\xFF")), BlockState::kDamaged);  // shards
  EXPECT_EQ(StateOf(changed(cuckoo, 16, std::string_view("\0\0\0\0", 4))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(cuckoo, 20, std::string_view("\0\0\0\0", 4))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(cuckoo, 24, "\1")), BlockState::kDamaged);  // first offset
  EXPECT_EQ(StateOf(changed(cuckoo, 28, "\xFF\xFF\xFF\xFF")), BlockState::kDamaged);  // falling

  const std::string ribbon = Block("rocksieve.ribbon:10", 5000);
  EXPECT_EQ(StateOf(changed(ribbon, 7, std::string_view("\0", 1))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(ribbon, 7, "\x0B")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(ribbon, 7, "\x21")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(ribbon, 16, "\xFF\xFF\xFF\xFF")), BlockState::kDamaged);  // buckets
  EXPECT_EQ(StateOf(changed(ribbon, 16, std::string_view("\0\0\0\0", 4))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(ribbon, 20, "\xFF\xFF\xFF\xFF")), BlockState::kDamaged);  // wide
  EXPECT_EQ(StateOf(changed(ribbon, 26, "\1")), BlockState::kDamaged);                // anchor
  EXPECT_EQ(StateOf(changed(ribbon, 28, "\1")), BlockState::kDamaged);  // first low byte
  EXPECT_EQ(StateOf(changed(ribbon, 29, std::string_view("\0", 1))), BlockState::kDamaged);
  const std::string small = Block("rocksieve.ribbon:10", 20);
  EXPECT_EQ(StateOf(changed(small, 7, "\x0B")), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(small, 16, std::string_view("\0", 1))), BlockState::kDamaged);
  EXPECT_EQ(StateOf(changed(small, 16, "\x41")), BlockState::kDamaged);  // slots
}

// The range of a filter against the smallest and largest key that a sort finds.

bool Covers(const KeyRange& range, std::string_view key) {
  if (key < range.smallest()) return false;
  return key <= range.largest() ||
         (range.largest_cut() && key.substr(0, range.largest().size()) == range.largest());
}

TEST(KeyRange, CoversEveryKeyAndNoMoreThanItMust) {
  const unsigned seed = 7;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; round++) {
    KeyRange range;
    std::vector<std::string> keys(1 + random() % 6);
    for (std::string& key : keys) {
      // Long equal beginnings, so that keys differ at, before and after the place of the cut.
      key = std::string(random() % 2 ? 30 : 0, 'a');
      for (size_t more = random() % 6; more > 0; more--)
        key += static_cast<char>('a' + random() % 2);
      range.Cover(key);
    }
    for (const std::string& key : keys) EXPECT_TRUE(Covers(range, key)) << key;
    const auto [smallest, largest] = std::minmax_element(keys.begin(), keys.end());
    EXPECT_EQ(range.smallest(), smallest->substr(0, kMaxRangeKeyBytes));
    EXPECT_EQ(range.largest(), largest->substr(0, kMaxRangeKeyBytes));
    EXPECT_EQ(range.largest_cut(), largest->size() > kMaxRangeKeyBytes);
  }
}

TEST(KeyRange, AKeyOfExactlyTheBoundIsNotCut) {
  KeyRange range;
  range.Cover(std::string(kMaxRangeKeyBytes, 'x'));
  EXPECT_FALSE(range.largest_cut());
  range.Cover(std::string(kMaxRangeKeyBytes + 1, 'x'));
  EXPECT_TRUE(range.largest_cut());
}

TEST(KeyRange, BytesAreUnsigned) {
  KeyRange range;
  range.Cover("\x7F");
  range.Cover("\x80");
  EXPECT_EQ(range.smallest(), "\x7F");
  EXPECT_EQ(range.largest(), "\x80");
}

}  // namespace
}  // namespace rocksieve
