// RocksDB's filters as they are predicted.
#include <string>

#include <gtest/gtest.h>

#include "plugin/tables/builtin_model.h"

namespace rocksieve {
namespace {

// Figures of RocksDB 7.8.3: bits per key and rates that its filter_bench and our comparisons show.
TEST(BuiltinModel, KnowsRocksDbsFilters) {
  EXPECT_NEAR(BuiltinBloom(1000000, 10).bytes * 8 / 1e6, 10, 0.01);
  EXPECT_NEAR(BuiltinBloom(1000000, 10).rate, 0.0095, 0.0005);
  EXPECT_NEAR(BuiltinRibbon(1000000, 10).bytes * 8 / 1e6, 7.03, 0.1);
  EXPECT_EQ(BuiltinBloom(0, 10).bytes, 0);
  // A few keys: Bloom after all.
  EXPECT_EQ(BuiltinRibbon(20, 10).bytes, BuiltinBloom(20, 10).bytes);
  EXPECT_NEAR(BuiltinRibbon(50000, BuiltinRibbonBitsForRate(0.001)).rate, 0.001, 1e-5);
}

// Files say how many keys their filters have, and may say anything.
TEST(BuiltinModel, IsDoneWithAnyNumberOfKeys) {
  for (const size_t lines : {0, 1, 2, 100}) {
    std::string block(lines * 64, '\0');
    block += std::string("\xff\0\6\0\0", 5);
    if (lines == 0) block.insert(0, "x");
    for (const uint64_t keys : {uint64_t{1} << 20, uint64_t{1} << 40, UINT64_MAX}) {
      EXPECT_EQ(BuiltinRate(block, keys), 1) << lines << " lines, " << keys << " keys";
    }
  }
}

}  // namespace
}  // namespace rocksieve
