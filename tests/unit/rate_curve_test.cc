// The curves of all kinds of filters, beside filters that are really built.
#include <cmath>

#include <gtest/gtest.h>

#include "lib/budget/builtin_model.h"
#include "lib/budget/rate_curve.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

TEST(RateCurve, RisesInBitsAndFallsInRate) {
  for (const FilterKind kind : kFilterKinds) {
    if (kind == FilterKind::kNone) continue;
    for (const uint64_t keys : {1u, 64u, 65u, 1000u, 100000u}) {
      SCOPED_TRACE(std::string(NameOf(kind)) + " " + std::to_string(keys));
      const std::vector<RatePoint> curve = RateCurve(kind, keys);
      ASSERT_FALSE(curve.empty());
      for (size_t i = 1; i < curve.size(); i++) {
        EXPECT_GT(curve[i].bits_per_key, curve[i - 1].bits_per_key);
        // RocksDB rounds the size of small filters but takes the probes of the setting.
        if (IsOurs(kind)) {
          EXPECT_LE(curve[i].rate, curve[i - 1].rate);
        }
      }
    }
  }
}

TEST(RateCurve, NoFilterIsOnePoint) {
  const std::vector<RatePoint> curve = RateCurve(FilterKind::kNone, 1000);
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].bits_per_key, 0);
  EXPECT_EQ(curve[0].rate, 1);
}

// Builds what the curve's points ask for.
TEST(RateCurve, IsWhatFiltersTake) {
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kCuckoo, FilterKind::kRibbon}) {
    for (const size_t keys : {200u, 5000u, 50000u}) {
      const std::vector<std::string> names = NumberedKeys(keys);
      const std::vector<RatePoint> curve = RateCurve(kind, keys);
      for (size_t i = 3; i < curve.size(); i += 7) {
        FilterSpec spec;
        spec.family = FamilyOf(kind);
        spec.amount = curve[i].setting;
        SCOPED_TRACE(spec.ToString() + " of " + std::to_string(keys));
        const FilterBlock block = BuildFilter(spec, names);
        const double bits = 8.0 * static_cast<double>(block.size) / static_cast<double>(keys);
        EXPECT_NEAR(bits, curve[i].bits_per_key, 0.04 * bits + 500.0 / static_cast<double>(keys));
        const double rate = ExpectedFalsePositiveRate(OpenFilter(block.view()).info);
        if (keys >= 5000) {
          EXPECT_NEAR(rate / curve[i].rate, 1, keys == 5000 ? 0.25 : 0.08);
        }
      }
    }
  }
}

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
