// SPDX-License-Identifier: Apache-2.0
// The cuckoo filter: nothing lost at any load, the load and the rate that it promises, its bytes.
#include <rocksieve/dynamic/cuckoo_filter.h>

#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/toolbox/cuckoo_buckets.h"
#include "lib/toolbox/envelope.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::HasSubstr;

CuckooFilterOptions Options(uint64_t buckets, int fingerprint_bits, uint64_t seed = 0) {
  CuckooFilterOptions options;
  options.buckets = buckets;
  options.fingerprint_bits = fingerprint_bits;
  options.seed = seed;
  return options;
}

// Adds random hashes until one is refused; gives those that were not.
std::vector<uint64_t> FillUp(CuckooFilter* filter, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> added;
  for (uint64_t hash = random(); filter->AddHash(hash); hash = random()) added.push_back(hash);
  return added;
}

TEST(CuckooFilter, AlternateBucketIsAnInvolutionForAnyNumberOfBuckets) {
  for (uint64_t buckets = 1; buckets <= 130; buckets++) {
    for (uint32_t fingerprint = 1; fingerprint < 64; fingerprint++) {
      uint64_t own_alternates = 0;
      for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        const uint64_t other = AlternateCuckooBucket(bucket, fingerprint, buckets);
        ASSERT_LT(other, buckets);
        ASSERT_EQ(AlternateCuckooBucket(other, fingerprint, buckets), bucket);
        own_alternates += other == bucket;
      }
      ASSERT_LE(own_alternates, buckets % 2 == 0 ? 2 : 1);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; i++) {
    const uint64_t buckets = 1 + (random() >> (32 + i % 31));
    const uint64_t bucket = random() % buckets;
    const uint32_t fingerprint = static_cast<uint32_t>(random());
    const uint64_t other = AlternateCuckooBucket(bucket, fingerprint, buckets);
    ASSERT_LT(other, buckets);
    ASSERT_EQ(AlternateCuckooBucket(other, fingerprint, buckets), bucket) << buckets;
  }
}

// Beside a multiset, at every load up to full, at every width.
TEST(CuckooFilter, AgreesWithAMultisetInLockstep) {
  for (uint64_t buckets : {1, 2, 3, 7, 12, 64, 331}) {
    for (int bits : {2, 3, 5, 8, 11, 15, 16, 17, 19, 29, 32}) {
      SCOPED_TRACE(testing::Message() << buckets << " buckets, " << bits << " bits");
      std::mt19937_64 random(buckets * 100 + static_cast<uint64_t>(bits));
      CuckooFilter filter(Options(buckets, bits, 9));
      std::map<std::string, uint64_t> truth;
      uint64_t size = 0;
      for (int step = 0; step < 3000; step++) {
        const std::string key = std::to_string(random() % (buckets * 5));
        // More is added than removed, so that it is full in the end.
        if (random() % 8 < 5) {
          if (filter.Add(key)) truth[key]++, size++;
        } else if (truth[key] > 0) {
          ASSERT_TRUE(filter.Remove(key));
          truth[key]--, size--;
        }
        ASSERT_EQ(filter.size(), size);
        ASSERT_GE(filter.Count(key), truth[key]);
        ASSERT_EQ(filter.MayContain(key), filter.Count(key) > 0);
      }
      for (const auto& [key, count] : truth) ASSERT_GE(filter.Count(key), count) << key;
      for (auto& [key, count] : truth) {
        for (; count > 0; count--) ASSERT_TRUE(filter.Remove(key)) << key;
      }
      EXPECT_EQ(filter, CuckooFilter(filter.options()));
    }
  }
}

TEST(CuckooFilter, LosesNothingWhenFull) {
  for (uint64_t buckets : {1, 2, 5, 100, 4001, 8192}) {
    CuckooFilter filter(Options(buckets, 12));
    std::vector<uint64_t> added = FillUp(&filter, buckets);
    std::mt19937_64 random(99);
    int refused = 0;
    for (int i = 0; i < 100; i++) {  // a few still find room
      const CuckooFilter before = filter;
      const uint64_t hash = random();
      if (filter.AddHash(hash)) {
        added.push_back(hash);
      } else {
        refused++;
        ASSERT_EQ(filter, before);
        ASSERT_EQ(filter.size(), before.size());
      }
    }
    EXPECT_GT(refused, 0);
    const auto read = CuckooFilter::Deserialize(filter.Serialize(), nullptr);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->size(), added.size());
    for (uint64_t hash : added) {
      ASSERT_TRUE(filter.MayContainHash(hash));
      ASSERT_TRUE(read->MayContainHash(hash));
    }
  }
}

// docs/toolbox.md has these loads: of the first key that is refused.
TEST(CuckooFilter, ReachesItsLoad) {
  struct Loads {
    int bits;
    double least, most;
  };
  for (const Loads& loads : {Loads{2, 0.3, 0.7},
                             {3, 0.6, 0.96},
                             {4, 0.9, 0.98},
                             {5, 0.96, 0.99},
                             {6, 0.965, 0.99},
                             {12, 0.97, 0.99},
                             {32, 0.97, 0.99}}) {
    for (uint64_t buckets : {8192, 9999, 200003}) {
      CuckooFilter filter(Options(buckets, loads.bits));
      FillUp(&filter, buckets + static_cast<uint64_t>(loads.bits));
      EXPECT_GE(filter.Load(), loads.least) << buckets << " buckets, " << loads.bits << " bits";
      EXPECT_LE(filter.Load(), loads.most) << buckets << " buckets, " << loads.bits << " bits";
    }
  }
}

TEST(CuckooFilter, KeysThatWerePlannedForFit) {
  std::mt19937_64 random(4);
  int filters = 0, too_small = 0;
  for (uint64_t keys : {1, 4, 9, 16, 20, 30, 50, 100, 200, 500}) {
    for (int i = 0; i < 300; i++) {
      CuckooFilter filter(CuckooFilterOptions::ForKeys(keys, i % 2 == 0 ? 0.3 : 0.01));
      bool fits = true;
      for (uint64_t key = 0; key < keys && fits; key++) fits = filter.AddHash(random());
      filters++;
      too_small += !fits;
    }
  }
  EXPECT_LE(too_small, 4) << "of " << filters << ": 0.3 are expected";
}

TEST(CuckooFilter, MissingKeysPassAtTheExpectedRate) {
  for (double rate : {0.2, 0.03, 0.004, 0.00002}) {
    constexpr int kKeys = 30000, kProbes = 400000;
    CuckooFilter filter(CuckooFilterOptions::ForKeys(kKeys, rate));
    for (int i = 0; i < kKeys; i++) ASSERT_TRUE(filter.Add("key" + std::to_string(i)));
    EXPECT_LE(filter.ExpectedFalsePositiveRate(), rate);
    EXPECT_GT(filter.ExpectedFalsePositiveRate(), rate * 0.4);
    int passed = 0;
    for (int i = 0; i < kProbes; i++) passed += filter.MayContain("other" + std::to_string(i));
    const double expected = kProbes * filter.ExpectedFalsePositiveRate();
    EXPECT_NEAR(passed, expected, 5 * std::sqrt(expected)) << rate;
  }
}

TEST(CuckooFilter, TakesEightCopiesOfAKeyAndRefusesTheNinth) {
  for (uint64_t buckets : {1, 1000}) {
    CuckooFilter filter(Options(buckets, 12));
    ASSERT_TRUE(filter.Add("pear"));
    const CuckooFilter before = filter;
    const uint64_t most = buckets == 1 ? 3 : 8;  // the only bucket has a pear already
    for (uint64_t copies = 1; copies <= most; copies++) {
      ASSERT_TRUE(filter.Add("apple"));
      ASSERT_EQ(filter.Count("apple"), copies);
    }
    EXPECT_FALSE(filter.Add("apple"));
    EXPECT_EQ(filter.Count("apple"), most);
    for (uint64_t copies = most; copies > 0; copies--) ASSERT_TRUE(filter.Remove("apple"));
    EXPECT_FALSE(filter.Remove("apple"));
    EXPECT_EQ(filter.size(), 1u);
    EXPECT_EQ(filter, before);
  }
}

TEST(CuckooFilter, MergesIntoTheUnionOrRefusesWhole) {
  CuckooFilter a(Options(1003, 14, 3)), b(Options(1003, 14, 3));
  for (int i = 0; i < 1800; i++) {
    ASSERT_TRUE(a.Add("a" + std::to_string(i)) && b.Add("b" + std::to_string(i)));
  }
  ASSERT_TRUE(a.Merge(b));
  EXPECT_EQ(a.size(), 3600u);
  for (int i = 0; i < 1800; i++) {
    ASSERT_TRUE(a.MayContain("a" + std::to_string(i)));
    ASSERT_TRUE(a.MayContain("b" + std::to_string(i)));
  }
  const CuckooFilter before = a;
  EXPECT_FALSE(a.Merge(b)) << "5,400 keys in 4,012 slots";
  EXPECT_FALSE(a.Merge(CuckooFilter(Options(1003, 14, 4))));
  EXPECT_FALSE(a.Merge(CuckooFilter(Options(1004, 14, 3))));
  EXPECT_EQ(a, before);
  a.Clear();
  EXPECT_EQ(a, CuckooFilter(a.options()));
}

TEST(CuckooFilter, RefusesOptionsThatMakeNoSense) {
  for (const CuckooFilterOptions& options :
       {Options(0, 8), Options((uint64_t{1} << 32) + 1, 8), Options(5, 1), Options(5, 33)}) {
    EXPECT_THROW(CuckooFilter{options}, std::invalid_argument);
  }
  EXPECT_THROW(CuckooFilterOptions::ForKeys(0, 0.1), std::invalid_argument);
  EXPECT_THROW(CuckooFilterOptions::ForKeys(10, 0), std::invalid_argument);
  EXPECT_THROW(CuckooFilterOptions::ForKeys(10, 1), std::invalid_argument);
  EXPECT_THROW(CuckooFilterOptions::ForKeys(10, NAN), std::invalid_argument);
  EXPECT_THROW(CuckooFilterOptions::ForKeys(10000, 1e-10), std::invalid_argument);
  EXPECT_THROW(CuckooFilterOptions::ForKeys(UINT64_MAX, 0.1), std::invalid_argument);
}

// tests/python/toolbox_test.py knows what must be in these, wherever it stands.
TEST(CuckooFilter, HasTheGoldenBytes) {
  for (const auto& [name, options] : {std::pair("cuckoo_full_11_bits", Options(10, 11, 1)),
                                      std::pair("cuckoo_wide", Options(13, 32, 2))}) {
    CuckooFilter filter(options);
    const int keys = static_cast<int>(options.buckets) * 4 - 2;
    for (int i = 0; i < keys; i++) ASSERT_TRUE(filter.Add("key" + std::to_string(i))) << i;
    ExpectGolden(name, filter);
    EXPECT_EQ(CuckooFilter::Deserialize(GoldenBytes(name), nullptr), filter);
  }
}

TEST(CuckooFilter, DamagedBytesAreAnError) {
  CuckooFilter filter(Options(3, 9, 1));  // with unused bits in the last byte
  for (int i = 0; i < 5; i++) ASSERT_TRUE(filter.Add(std::to_string(i)));
  ExpectRefusesDamage<CuckooFilter>(filter.Serialize());
}

// Intact envelopes around payloads that nobody should believe.
TEST(CuckooFilter, HostilePayloadsAreAnError) {
  struct Hostile {
    std::string payload;
    const char* error;
  };
  const std::string seed(8, '\0'), one_bucket("\1\0\0\0\0\0\0\0", 8);
  for (const Hostile& hostile : {
           Hostile{"", "cut off"},
           {one_bucket + '\5', "cut off"},
           {one_bucket + '\1' + seed, "fingerprint_bits is 1"},
           {one_bucket + '\x21' + seed, "fingerprint_bits is 33"},
           {std::string(8, '\0') + '\5' + seed, "buckets is 0"},
           {std::string(8, '\xff') + '\5' + seed, "buckets is 1844"},
           {std::string("\0\0\0\0\1\0\0\0", 8) + '\5' + seed, "need 10737418240 bytes"},
           {one_bucket + '\5' + seed + std::string(4, '\1'), "need 3 bytes, not 4"},
           {one_bucket + '\5' + seed + std::string(2, '\1'), "need 3 bytes, not 2"},
           {one_bucket + '\5' + seed + std::string(3, '\x10'), "after the last slot"},
       }) {
    std::string error;
    EXPECT_FALSE(
        CuckooFilter::Deserialize(WriteEnvelope(EnvelopeType::kCuckoo, hostile.payload), &error));
    EXPECT_THAT(error, HasSubstr(hostile.error));
  }
}

}  // namespace
}  // namespace rocksieve
