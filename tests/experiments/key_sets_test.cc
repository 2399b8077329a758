// SPDX-License-Identifier: Apache-2.0
// Every type that holds a set of keys, through one interface; then the hash tables by themselves.
#include "experiments/structures/key_set.h"

#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "experiments/structures/cuckoo_table.h"
#include "experiments/structures/hash_table.h"
#include "lib/toolbox/envelope.h"
#include "support/text.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

double FiveSigma(double mean) { return 5 * std::sqrt(mean); }

TEST(KeySets, HoldTheirKeysAtTheirRate) {
  for (KeySetKind kind : kKeySetKinds) {
    for (double rate : {0.2, 0.01, 0.0005}) {
      SCOPED_TRACE(testing::Message() << KeySetName(kind) << " " << rate);
      constexpr int kKeys = 20000, kProbes = 100000;
      const std::unique_ptr<KeySet> set = NewKeySet(kind, kKeys, rate);
      for (int i = 0; i < kKeys; i++) ASSERT_TRUE(set->Add("key" + std::to_string(i)));
      for (int i = 0; i < kKeys; i++) ASSERT_TRUE(set->MayContain("key" + std::to_string(i)));
      EXPECT_LE(set->ExpectedFalsePositiveRate(), rate * 1.02);
      int passed = 0;
      for (int i = 0; i < kProbes; i++) passed += set->MayContain("other" + std::to_string(i));
      const double expected = kProbes * set->ExpectedFalsePositiveRate();
      EXPECT_NEAR(passed, expected, FiveSigma(expected));
    }
  }
}

// The table of docs/toolbox.md: bits per key, beside the theory there.
TEST(KeySets, AreAsSmallAsDocumented) {
  struct Sizes {
    KeySetKind kind;
    double bits_at[4];
  };
  constexpr double kRates[] = {0.1, 0.01, 0.001, 0.0001};
  for (const Sizes& sizes : {Sizes{KeySetKind::kBloomFilter, {4.8, 9.6, 14.4, 19.2}},
                             {KeySetKind::kCuckooFilter, {7.4, 10.5, 13.7, 17.9}},
                             {KeySetKind::kHashCompaction, {6.4, 10.7, 14.6, 18.3}}}) {
    for (int i = 0; i < 4; i++) {
      constexpr uint64_t kKeys = 200000;
      const auto set = NewKeySet(sizes.kind, kKeys, kRates[i]);
      EXPECT_NEAR(static_cast<double>(set->MemoryBytes()) * 8 / kKeys, sizes.bits_at[i], 0.06)
          << KeySetName(sizes.kind) << " " << kRates[i];
    }
  }
  // Words of 6 to 11 bytes.
  for (const auto& [kind, most_bytes] :
       {std::pair(KeySetKind::kCuckooTable, 22), std::pair(KeySetKind::kHashTable, 60)}) {
    const auto set = NewKeySet(kind, 100000, 0);
    for (int i = 0; i < 100000; i++) set->Add("word-" + std::to_string(i));
    EXPECT_LE(set->MemoryBytes(), 100000u * static_cast<size_t>(most_bytes)) << KeySetName(kind);
    EXPECT_GE(set->MemoryBytes(), 100000u * 15) << KeySetName(kind);
  }
}

template <typename Table>
void CompareWithASet(uint64_t seed) {
  std::mt19937_64 random(seed);
  Table table;
  std::set<std::string> truth;
  const std::string tail(300, 'x');  // lengths of one byte and of two
  for (int step = 0; step < 60000; step++) {
    // Grows for a while, then shrinks to nothing.
    const uint64_t number = random() % 6000;
    std::string key = number == 0 ? "" : std::string(1, '\0') + std::to_string(number);
    if (number % 50 == 1) key += tail;
    if (random() % 8 < (step < 30000 ? 6u : 2u)) {
      table.Add(key);
      truth.insert(key);
    } else {
      ASSERT_EQ(table.Remove(key), truth.erase(key) == 1);
    }
    ASSERT_EQ(table.MayContain(key), truth.count(key) == 1);
    ASSERT_EQ(table.size(), truth.size());
  }
  for (const std::string& key : truth) ASSERT_TRUE(table.Remove(key));
  EXPECT_EQ(table.size(), 0u);
  EXPECT_FALSE(table.Remove("1"));
}

TEST(HashTable, AgreesWithASetInLockstep) { CompareWithASet<HashTable>(1); }
TEST(CuckooTable, AgreesWithASetInLockstep) { CompareWithASet<CuckooTable>(2); }

TEST(CuckooTable, GrowsByItselfAndGivesMemoryBack) {
  CuckooTable table;
  for (int i = 0; i < 100000; i++) {
    table.Add("key" + std::to_string(i));
    if (i >= 100) {
      ASSERT_GE(table.Load(), 0.6) << i;
    }
  }
  for (int i = 0; i < 100000; i++) ASSERT_TRUE(table.MayContain("key" + std::to_string(i)));
  table.ShrinkToFit();
  const size_t full = table.MemoryBytes();
  for (int i = 0; i < 90000; i++) ASSERT_TRUE(table.Remove("key" + std::to_string(i)));
  table.ShrinkToFit();
  EXPECT_LT(table.MemoryBytes() + 600000, full);
}

TEST(CuckooTable, WhatWasPlannedForFitsWithoutGrowing) {
  for (uint64_t keys : {1, 10, 100, 1000, 30000}) {
    CuckooTableOptions options;
    options.keys = keys;
    options.seed = keys;
    CuckooTable table(options);
    const size_t empty = table.MemoryBytes();
    uint64_t key_bytes = 0;
    for (uint64_t i = 0; i < keys; i++) {
      table.Add(std::to_string(i));
      key_bytes += 1 + std::to_string(i).size();
    }
    table.ShrinkToFit();
    EXPECT_LE(table.MemoryBytes(), empty + key_bytes + 32) << keys;
  }
}

// The example of docs/formats/toolbox.md.
TEST(CuckooTable, HasTheDocumentedBytes) {
  CuckooTableOptions options;
  options.seed = 7;
  CuckooTable table(options);
  for (const char* key : {"plum", "pear", "apple", "", "pear", "fig"}) table.Add(key);
  ASSERT_TRUE(table.Remove("fig"));
  EXPECT_EQ(HexBytes(table.Serialize()),
            "5253544201061a0000000000000007000000000000000400056170706c65047065617204706c756d06ccf7"
            "dc6fbf1cd5");
}

TEST(CuckooTable, HasTheGoldenBytes) {
  CuckooTableOptions options;
  options.seed = UINT64_MAX;
  CuckooTable table(options);
  for (int i = 39; i >= 0; i--) table.Add("key" + std::to_string(i));
  table.Add(std::string(50, '?'));
  std::string long_key;
  for (int i = 0; i < 50; i++) long_key += "long";
  table.Add(long_key);
  ASSERT_TRUE(table.Remove(std::string(50, '?')));
  EXPECT_EQ(HexBytes(table.Serialize()), HexBytes(GoldenBytes("cuckoo_table")));
  std::string error;
  const auto read = CuckooTable::Deserialize(GoldenBytes("cuckoo_table"), &error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(read->SortedKeys(), table.SortedKeys());
}

TEST(CuckooTable, DamagedBytesAreAnError) {
  CuckooTable table;
  for (int i = 0; i < 30; i++) table.Add(std::to_string(i));
  ExpectRefusesDamage<CuckooTable>(table.Serialize(), EnvelopeType::kCuckooTable);
  std::string error;
  const std::string seed(8, '\0');
  for (const std::string& payload :
       {std::string(), seed, seed + "\x02\x01z", seed + "\x02\x01z\x01y", seed + "\x02\x01z\x01z",
        seed + "\x01\x01zz", seed + "\xff\xff\xff\xff\xff\xff\xff\xff\x7f", seed + "\x01\x05z"}) {
    EXPECT_FALSE(
        CuckooTable::Deserialize(WriteEnvelope(EnvelopeType::kCuckooTable, payload), &error));
    EXPECT_THAT(error, HasSubstr("not so many keys"));
  }
  CuckooTableOptions options;
  options.keys = UINT64_MAX;
  EXPECT_THROW(CuckooTable{options}, std::invalid_argument);
}

}  // namespace
}  // namespace rocksieve
