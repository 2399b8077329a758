// SPDX-License-Identifier: Apache-2.0
// Hash compaction: its rate, its size and its omission probability beside the formulas; its bytes.
#include "experiments/structures/hash_compaction.h"

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/format/byte_io.h"
#include "lib/toolbox/envelope.h"
#include "support/text.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

double Margin(double mean) { return 5 * std::sqrt(mean); }

TEST(HashCompaction, SlotsArePrime) {
  int primes = 0;
  for (uint64_t n = 0; n < 1000; n++) primes += IsPrime(n);
  EXPECT_EQ(primes, 168);
  EXPECT_TRUE(IsPrime(HashCompactionOptions::kMostSlots)) << "so that rounding stays within it";
  HashCompactionOptions options;
  options.slots = 1000;
  options.value_bits = 10;
  EXPECT_EQ(HashCompaction(options).options().slots, 1009u);
}

TEST(HashCompaction, TakesTheLoadThatNeedsTheFewestBits) {
  for (double rate : {0.2, 0.05, 0.01, 1e-4, 1e-8}) {
    const auto options = HashCompactionOptions::ForKeys(100000, rate);
    const double bits = static_cast<double>(options.slots) * options.value_bits;
    EXPECT_LE(HashCompactionRate(options.value_bits, 1e5 / static_cast<double>(options.slots)),
              rate * (1 + 1e-9));
    for (int other_bits = 2; other_bits <= 48; other_bits++) {
      double load = 0.999;
      while (HashCompactionRate(other_bits, load) > rate) load -= 0.001;
      if (load > 0) {
        EXPECT_LT(bits, 1e5 / load * other_bits * 1.01) << rate << " " << other_bits;
      }
    }
  }
}

// The formula of the rate beside the rate, at several loads.
TEST(HashCompaction, MissingKeysPassAtTheExpectedRate) {
  HashCompactionOptions options;
  options.slots = 20011;
  options.value_bits = 8;
  HashCompaction table(options);
  std::mt19937_64 random(3);
  for (double load : {0.1, 0.5, 0.8, 0.9, 0.97}) {
    while (table.Load() < load) ASSERT_TRUE(table.AddHash(random()));
    constexpr int kProbes = 200000;
    int passed = 0;
    for (int i = 0; i < kProbes; i++) passed += table.MayContainHash(random());
    const double expected = kProbes * table.ExpectedFalsePositiveRate();
    // Probes share their paths through one table: its own spread is about as large as theirs.
    EXPECT_NEAR(passed, expected, 2 * Margin(expected)) << load;
  }
}

TEST(HashCompaction, OmitsKeysAsOftenAsStated) {
  HashCompactionOptions options;
  options.slots = 211;
  options.value_bits = 14;
  std::mt19937_64 random(5);
  constexpr int kTables = 4000;
  for (uint64_t keys : {20, 100, 190, 205}) {
    int omitted_any = 0;
    for (int i = 0; i < kTables; i++) {
      HashCompaction table(options);
      for (uint64_t key = 0; key < keys; key++) ASSERT_TRUE(table.AddHash(random()));
      omitted_any += table.size() < keys;
    }
    const double expected =
        kTables * HashCompactionOmissionProbability(options.slots, options.value_bits, keys);
    EXPECT_NEAR(omitted_any, expected, Margin(expected)) << keys;
  }
}

TEST(HashCompaction, LosesNothingWhenFull) {
  for (uint64_t slots : {2, 3, 5, 101, 1009}) {
    for (int bits : {2, 9, 48}) {
      HashCompactionOptions options;
      options.slots = slots;
      options.value_bits = bits;
      HashCompaction table(options);
      std::mt19937_64 random(slots);
      std::vector<uint64_t> added;
      uint64_t hash = random();
      for (; table.AddHash(hash); hash = random()) added.push_back(hash);
      EXPECT_EQ(table.size(), slots - 1);
      const HashCompaction before = table;
      EXPECT_FALSE(table.AddHash(hash));
      EXPECT_EQ(table, before);
      const auto read = HashCompaction::Deserialize(table.Serialize(), nullptr);
      ASSERT_TRUE(read);
      EXPECT_EQ(*read, table);
      EXPECT_EQ(read->size(), table.size());
      for (uint64_t key : added) ASSERT_TRUE(read->MayContainHash(key));
    }
  }
}

// The example of docs/formats/toolbox.md.
TEST(HashCompaction, HasTheDocumentedBytes) {
  HashCompactionOptions options;
  options.slots = 7;
  options.value_bits = 11;
  options.seed = 9;
  HashCompaction table(options);
  for (const char* key : {"apple", "pear", "plum", "fig"}) ASSERT_TRUE(table.Add(key));
  EXPECT_EQ(HexBytes(table.Serialize()),
            "5253544201071b0000000000000007000000000000000b0900000000000000d25d03000000004a951359b1"
            "da6030ae5a27");
}

TEST(HashCompaction, RefusesOptionsThatMakeNoSense) {
  HashCompactionOptions options;
  for (uint64_t slots : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40}) {
    options.slots = slots;
    options.value_bits = 8;
    EXPECT_THROW(HashCompaction{options}, std::invalid_argument);
  }
  for (int bits : {1, 49}) {
    options.slots = 10;
    options.value_bits = bits;
    EXPECT_THROW(HashCompaction{options}, std::invalid_argument);
  }
  EXPECT_THROW(HashCompactionOptions::ForKeys(0, 0.1), std::invalid_argument);
  EXPECT_THROW(HashCompactionOptions::ForKeys(10, NAN), std::invalid_argument);
  EXPECT_THROW(HashCompactionOptions::ForKeys(uint64_t{1} << 41, 0.1), std::invalid_argument);
}

TEST(HashCompaction, HasTheGoldenBytes) {
  for (const auto& [name, options] :
       {std::pair("hash_compaction_9_bits", HashCompactionOptions{47, 9, 0}),
        std::pair("hash_compaction_48_bits", HashCompactionOptions{41, 48, 3})}) {
    HashCompaction table(options);
    for (int i = 0; i < 40; i++) ASSERT_TRUE(table.Add("key" + std::to_string(i)));
    EXPECT_EQ(HexBytes(table.Serialize()), HexBytes(GoldenBytes(name)));
    const auto read = HashCompaction::Deserialize(GoldenBytes(name), nullptr);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, table);
  }
}

TEST(HashCompaction, DamagedAndHostileBytesAreAnError) {
  ExpectRefusesDamage<HashCompaction>(GoldenBytes("hash_compaction_9_bits"),
                                      EnvelopeType::kHashCompaction);
  std::string error;
  struct Hostile {
    uint64_t slots;
    uint8_t value_bits;
    std::string values;
    const char* error;
  };
  for (const Hostile& hostile :
       {Hostile{1, 8, "a", "slots is 1"},
        {5, 1, "a", "value_bits is 1"},
        {5, 49, "a", "value_bits is 49"},
        {UINT64_MAX, 8, "a", "slots is 1844"},
        {HashCompactionOptions::kMostSlots, 8, "a", "need 1099511627689 bytes"},
        {4, 8, "ab\0\0", "need 4 bytes, not 2"},
        {4, 8, std::string(4, '\0'), "not a prime"},
        {3, 8, "abc", "no slot is empty"},
        {3, 7, std::string(3, '\x80'), "after the last slot"}}) {
    std::string payload;
    ByteWriter out(&payload);
    out.U64(hostile.slots);
    out.U8(hostile.value_bits);
    out.U64(0);
    out.Bytes(hostile.values);
    EXPECT_FALSE(
        HashCompaction::Deserialize(WriteEnvelope(EnvelopeType::kHashCompaction, payload), &error));
    EXPECT_THAT(error, HasSubstr(hostile.error));
  }
  EXPECT_FALSE(
      HashCompaction::Deserialize(WriteEnvelope(EnvelopeType::kHashCompaction, ""), &error));
  EXPECT_THAT(error, HasSubstr("cut off"));
}

}  // namespace
}  // namespace rocksieve
