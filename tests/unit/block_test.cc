// SPDX-License-Identifier: Apache-2.0
// The frame around a payload, and the range of its keys.
#include <algorithm>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/filter/builder.h"
#include "lib/format/block.h"
#include "lib/format/coding.h"
#include "lib/hash/key_hash.h"
#include "tests/golden.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

TEST(KeyHasher, HashesShortKeysAsHashKeyDoes) {
  std::mt19937_64 random(7);
  for (uint64_t salt : {kDefaultSalt, uint64_t{1}, ~uint64_t{0}, random(), random()}) {
    const KeyHasher hasher(salt);
    for (size_t bytes = 0; bytes < 40; bytes++) {
      ASSERT_EQ(KeyHasher::IsShort(bytes), bytes >= 9 && bytes <= 16) << bytes;
      if (!KeyHasher::IsShort(bytes)) continue;
      for (int i = 0; i < 1000; i++) {
        std::string key(bytes, '\0');
        for (char& c : key) c = static_cast<char>(random());
        ASSERT_EQ(hasher.HashShort(key), HashKey(key, salt)) << bytes << " bytes, salt " << salt;
      }
    }
  }
}

}  // namespace

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

TEST(Block, EveryFlippedBitIsDamage) {
  for (const char* spec :
       {"rocksieve.bloom:10", "rocksieve.cuckoo:9", "rocksieve.bloom:9:salted",
        "rocksieve.ribbon:10", "rocksieve.ribbon:3.3:salted"}) {
    for (size_t keys : {0, 1, 20, 100}) {
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

// Ribbon filters have it between 65 and 32,767 keys, of all families alone.
TEST(Block, TheFrameIsCompactWhereItPays) {
  for (const auto& [spec, keys, version] :
       std::vector<std::tuple<const char*, size_t, int>>{{"rocksieve.ribbon:10", 64, 1},
                                                         {"rocksieve.ribbon:10", 65, 2},
                                                         {"rocksieve.ribbon:0.1%", 32767, 2},
                                                         {"rocksieve.ribbon:0.1%", 32768, 1},
                                                         {"rocksieve.bloom:10", 1000, 1},
                                                         {"rocksieve.cuckoo:10", 1000, 1},
                                                         {"rocksieve.range:12", 1000, 1}}) {
    const std::string block = Block(spec, keys);
    EXPECT_EQ(block[4], version) << spec << ", " << keys << " keys";
    const ExactCopy copy(block);
    const OpenedFilter opened = OpenFilter(copy.view());
    ASSERT_EQ(opened.state, BlockState::kIntact);
    EXPECT_EQ(opened.info.key_count, keys);
    for (const std::string& key : NumberedKeys(keys)) {
      ASSERT_TRUE(opened.filter->MayContain(key)) << spec << ", " << keys << " keys: " << key;
    }
  }
}

// Peers of a join may be older: what is sent has the frame that they read.
TEST(Block, FiltersOfHashesHaveTheFrameOfAllReleases) {
  HashList hashes;
  for (const std::string& key : NumberedKeys(1000)) hashes.push_back(HashKey(key, kDefaultSalt));
  EXPECT_EQ(BuildFilterOfHashes(Spec("rocksieve.ribbon:10"), hashes).data[4], 1);
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
  } changes[] = {{4, 0}, {4, 3}, {5, 5}, {5, 0}, {6, 2}, {6, 3}};
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
  struct Change {
    int at;  // from the end, if below 0
    std::string bytes;
  };
  const auto zeros = [](size_t count) { return std::string(count, '\0'); };
  const std::tuple<const char*, size_t, std::vector<Change>> cases[] = {
      {"rocksieve.bloom:10", 100,
       {
           {7, zeros(1)}, {7, "\7"}, {-19, "\x21"}, {-18, "\x01"},
       }},
      {"rocksieve.cuckoo:10", 5000,
       {
           {7, "\1"}, {7, "\x3D"},
           {16, "\xFF\xFF\xFF\xFF"},  // shards
           {16, zeros(4)}, {20, zeros(4)},
           {24, "\1"},  // first offset
           {28, "\xFF\xFF\xFF\xFF"},  // falling
       }},
      {"rocksieve.ribbon:10", 33000,
       {
           {7, zeros(1)}, {7, "\x0B"}, {7, "\x21"},
           {16, "\xFF\xFF\xFF\xFF"},  // buckets
           {16, zeros(4)},
           {20, "\xFF\xFF\xFF\xFF"},  // wide
           {26, "\1"},  // anchor
           {32, "\1"},  // first low byte
           {33, zeros(1)},
           {7, "\x2A"},  // a compact head
       }},
      {"rocksieve.ribbon:10.5", 5000,
       {
           {6, "\xFC"},  // beginning of 63 bytes
           {6, "\x7D"},  // a salt of the payload
           {7, zeros(1)},
           {7, "\x0A"},  // a plain head
           {7, "\x20"},  // 32 columns
           {7, "\x29"}, {7, "\x3F"},
           {8, "\xFF"},  // buckets
           {8, "\x80"},  // one bucket
           {8, "\x13"},  // none wide
           {10, "\xFF\xFF"},  // wide
           {12, "\1"},  // first low byte
           {13, zeros(1)},
           {-18, "\x10"},  // rests
           {-18, "\xFF"},
       }},
      {"rocksieve.ribbon:10", 20,
       {
           {7, "\x0B"}, {16, zeros(1)},
           {16, "\x41"},  // slots
       }},
  };
  for (const auto& [spec, keys, changes] : cases) {
    const std::string block = Block(spec, keys);
    for (const auto& [at, bytes] : changes) {
      std::string changed = block;
      changed.replace(at < 0 ? changed.size() + static_cast<size_t>(at) : static_cast<size_t>(at),
                      bytes.size(), bytes);
      EXPECT_EQ(StateOf(WithFreshCheckWord(changed)), BlockState::kDamaged) << spec << " " << at;
    }
  }
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

// What a compact frame keeps of a range still has every key in it.
TEST(KeyRange, OfACompactFrameCoversEveryKey) {
  const unsigned seed = 8;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; round++) {
    const std::string beginning(random() % 40, 'a');
    std::vector<std::string> keys(70);
    KeyRange range;
    for (std::string& key : keys) {
      key = beginning;
      for (size_t more = random() % 8; more > 0; more--)
        key += static_cast<char>('a' + random() % 2);
      range.Cover(key);
    }
    FilterBlockInfo info;
    info.family = Family::kRibbon;
    info.key_count = 70;
    std::string block(200, '\x11');
    info.payload = std::string_view(block).substr(kCompactHeaderBytes, 40);
    block.resize(SealBlock(FrameVersion::kCompact, info, range, block.data()));
    EXPECT_EQ(block.size(), 40 + FrameBytes(FrameVersion::kCompact, false, range));
    const ExactCopy copy(block);
    FilterBlockInfo read;
    ASSERT_EQ(ParseBlock(copy.view(), KnowsAll, &read), BlockState::kIntact);
    EXPECT_EQ(read.payload, std::string(40, '\x11'));
    EXPECT_EQ(read.key_count, 70u);
    for (const std::string& key : keys) {
      EXPECT_LE(read.smallest, key);
      EXPECT_TRUE(key <= read.largest ||
                  (read.largest_cut && key.substr(0, read.largest.size()) == read.largest))
          << key;
    }
    EXPECT_EQ(range.smallest().substr(0, read.smallest.size()), read.smallest);
    EXPECT_EQ(range.largest().substr(0, read.largest.size()), read.largest);
  }
}

TEST(KeyRange, BytesAreUnsigned) {
  KeyRange range;
  range.Cover("\x7F");
  range.Cover("\x80");
  EXPECT_EQ(range.smallest(), "\x7F");
  EXPECT_EQ(range.largest(), "\x80");
}

}  // namespace

// Blocks made by the independent encoder (tests/python), byte for byte.

namespace {

std::vector<std::string> KeysOf(const nlohmann::json& entry) {
  const nlohmann::json& keys = entry.at("keys");
  std::vector<std::string> result;
  if (keys.is_array()) {
    for (const auto& hex : keys) {
      std::string& key = result.emplace_back();
      EXPECT_TRUE(hex == "" || FromHexBytes(hex.get<std::string>(), &key)) << hex;
    }
    return result;
  }
  if (keys.contains("step")) {
    uint64_t number = keys.at("first");
    for (int i = 0; i < keys.at("count").get<int>();
         i++, number += keys.at("step").get<uint64_t>()) {
      result.push_back(BigEndian(number));
    }
    return result;
  }
  const std::string pattern = keys.at("pattern");
  const size_t number = pattern.find("%d");
  for (int i = 0; i < keys.at("count").get<int>(); i++) {
    result.push_back(std::string(pattern).replace(number, 2, std::to_string(i)));
  }
  return result;
}

FilterBlock BlockOf(const nlohmann::json& entry, const std::vector<std::string>& keys) {
  BlockBuilder builder(Spec(entry.at("spec").get<std::string>()));
  if (entry.at("name").get<std::string>().find("partition") != std::string::npos) {
    builder.SetIsPartition();
  }
  for (const std::string& key : keys) builder.AddKey(key);
  return builder.Finish();
}

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, BlocksAreWhatTheFormatDocumentsSay) {
  const nlohmann::json entries = ReadGolden(GetParam());
  ASSERT_GE(entries.size(), 10u);
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name"));
    const std::string golden = BytesOf(entry);
    const ExactCopy copy(golden);
    const OpenedFilter opened = OpenFilter(copy.view());
    ASSERT_EQ(opened.state, BlockState::kIntact);
    const std::vector<std::string> keys = KeysOf(entry);
    for (const std::string& key : keys) {
      EXPECT_TRUE(opened.filter->MayContain(key));
      EXPECT_TRUE(opened.filter->MayContainRange(key, key + '\0'));
    }
    // A salted builder draws its own salt, and what older versions wrote is no longer written: only
    // the reader can be held to those.
    const FilterSpec spec = Spec(entry.at("spec").get<std::string>());
    if (!spec.salted && !entry.contains("frame")) {
      EXPECT_TRUE(BlockOf(entry, keys).view() == golden);  // unprintable
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTest,
                         testing::Values("bloom", "cuckoo", "range", "ribbon"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace

}  // namespace rocksieve
