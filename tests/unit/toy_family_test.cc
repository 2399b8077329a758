// SPDX-License-Identifier: Apache-2.0
// A family that is added to the others is used through spec, builder and reader, and by auto.
// integration/databases_test.py has the same in RocksDB and in the command.
#include <gtest/gtest.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/family.h"
#include "tests/support.h"
#include "tests/toy_family/toy_family.h"

namespace rocksieve {
namespace {

TEST(ToyFamily, IsUnknownUntilItIsAdded) {
  FilterSpec spec;
  EXPECT_NE(FilterSpec::Parse("rocksieve.toy:10", &spec), "");
  std::string block;
  {
    const ScopedFamily toy(&kToyFamily);
    ASSERT_EQ(FilterSpec::Parse("rocksieve.toy:10", &spec), "");
    block = std::string(BuildFilter(spec, NumberedKeys(100)).view());
    EXPECT_EQ(OpenFilter(block).state, BlockState::kIntact);
  }
  EXPECT_EQ(OpenFilter(block).state, BlockState::kFutureVersion);
  EXPECT_THROW(FilterBuilder builder(spec), std::invalid_argument);
}

TEST(ToyFamily, SpecsAreReadWrittenAndRefused) {
  const ScopedFamily toy(&kToyFamily);
  for (const char* text : {"rocksieve.toy:2", "rocksieve.toy:7.5:salted", "rocksieve.toy:5%"}) {
    FilterSpec spec;
    ASSERT_EQ(FilterSpec::Parse(text, &spec), "");
    EXPECT_EQ(spec.family, kToyFamily.family);
    EXPECT_EQ(spec.ToString(), text);
  }
  FilterSpec spec;
  EXPECT_NE(FilterSpec::Parse("rocksieve.toy:1", &spec).find("2 to 40"), std::string::npos);
  EXPECT_NE(FilterSpec::Parse("rocksieve.tov:1", &spec).find("bloom, cuckoo, ribbon, range, toy"),
            std::string::npos);
}

TEST(ToyFamily, FiltersHaveAllTheirKeysAndTheRateTheySay) {
  const ScopedFamily toy(&kToyFamily);
  for (const char* text : {"rocksieve.toy:4", "rocksieve.toy:20", "rocksieve.toy:10%:salted"}) {
    SCOPED_TRACE(text);
    FilterSpec spec;
    ASSERT_EQ(FilterSpec::Parse(text, &spec), "");
    const std::vector<std::string> keys = NumberedKeys(20000);
    const FilterBlock block = BuildFilter(spec, keys);
    const OpenedFilter opened = OpenFilter(block.view());
    ASSERT_NE(opened.filter, nullptr);
    for (const std::string& key : keys) ASSERT_TRUE(opened.filter->MayContain(key)) << key;
    size_t passed = 0;
    for (const std::string& key : keys) passed += opened.filter->MayContain(key + "?") ? 1 : 0;
    const double rate = static_cast<double>(passed) / static_cast<double>(keys.size());
    EXPECT_NEAR(rate, ExpectedFalsePositiveRate(opened.info), 0.02);
    EXPECT_NEAR(rate, ExpectedFalsePositiveRate(spec, keys.size()), 0.02);
  }
}

TEST(ToyFamily, AutoMayTakeIt) {
  const ScopedFamily toy(&kToyFamily);
  AutoSpec spec;
  ASSERT_EQ(AutoSpec::Parse("rocksieve.auto:10:toy:toy-ns-3", &spec), "");
  EXPECT_EQ(spec.ToString(), "rocksieve.auto:10:toy:toy-ns-3");
  const Allocator allocator(spec.ForAllocator());
  const FilterChoice choice = allocator.HullFor(100000).Choose(10);
  EXPECT_EQ(choice.family, kToyFamily.family);
  EXPECT_EQ(spec.SpecFor(choice).family, kToyFamily.family);
}

}  // namespace
}  // namespace rocksieve
