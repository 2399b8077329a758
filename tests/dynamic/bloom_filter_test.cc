// The Bloom filter of one key after the other: what it promises, and what its bits tell.
#include <rocksieve/dynamic/bloom_filter.h>

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <rocksieve/dynamic/bloom_math.h>

#include "hash/mix.h"

namespace rocksieve {
namespace {

TEST(BloomFilter, HoldsItsKeysAtTheRateItWasMadeFor) {
  BloomFilter filter(BloomFilterOptions::ForKeys(20000, 0.01));
  for (int i = 0; i < 20000; i++) filter.Add("key" + std::to_string(i));
  for (int i = 0; i < 20000; i++) ASSERT_TRUE(filter.MayContain("key" + std::to_string(i))) << i;
  int passed = 0;
  for (int i = 0; i < 100000; i++) passed += filter.MayContain("other" + std::to_string(i));
  EXPECT_NEAR(passed, 1000, 5 * std::sqrt(1000));
  EXPECT_NEAR(filter.ExpectedFalsePositiveRate(), 0.01, 0.0005);
  const Estimate keys = filter.EstimateKeys();
  EXPECT_NEAR(keys.value, 20000, 5 * keys.standard_error);
}

}  // namespace
}  // namespace rocksieve
