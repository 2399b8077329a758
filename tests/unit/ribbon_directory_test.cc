// Where buckets begin, written and read back.
#include "lib/ribbon/directory.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve::ribbon {
namespace {

std::vector<uint32_t> OffsetsOf(const std::vector<uint32_t>& lengths) {
  std::vector<uint32_t> offsets = {0};
  for (uint32_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

std::vector<uint8_t> Written(const std::vector<uint32_t>& offsets) {
  std::vector<uint8_t> bytes(DirectoryBytes(offsets.size() - 1));
  WriteDirectory(offsets, bytes.data());
  return bytes;
}

TEST(RibbonDirectory, ReadsWhatItWrote) {
  std::mt19937_64 random(91);
  for (uint64_t buckets : {1, 2, 127, 128, 129, 1000, 20000}) {
    std::vector<uint32_t> lengths;
    for (uint64_t i = 0; i < buckets; i++) {
      lengths.push_back(kNominalGroups - 8 + static_cast<uint32_t>(random() % 17));
    }
    const std::vector<uint32_t> offsets = OffsetsOf(lengths);
    ASSERT_TRUE(DirectoryHolds(offsets));
    const std::vector<uint8_t> bytes = Written(offsets);
    const Directory directory(bytes.data(), buckets);
    for (uint64_t i = 0; i < buckets; i++) {
      ASSERT_EQ(directory.At(i).first_group, offsets[i]) << i << " of " << buckets;
      ASSERT_EQ(directory.At(i).groups, lengths[i]);
    }
    EXPECT_EQ(CountGroups(directory, buckets), offsets.back());
  }
}

TEST(RibbonDirectory, HoldsLengthsOfOneByteThatDoNotStrayFar) {
  EXPECT_TRUE(DirectoryHolds(OffsetsOf({1, 255, 30})));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf({30, 0, 30})));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf({30, 256, 30})));
  // 255 above the nominal beginnings, and 256.
  std::vector<uint32_t> lengths = {32 + 100, 32 + 100, 32 + 55, 32};
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(lengths)));
  lengths[2]++;
  EXPECT_FALSE(DirectoryHolds(OffsetsOf(lengths)));
  // As far, but under the next anchor.
  std::vector<uint32_t> many(129, 32);
  many[126] += 150;
  many[127] += 150;
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(many)));
  // Below them.
  EXPECT_TRUE(DirectoryHolds(OffsetsOf(std::vector<uint32_t>(9, 1))));
  EXPECT_FALSE(DirectoryHolds(OffsetsOf(std::vector<uint32_t>(10, 1))));
}

// Where a damaged directory is not refused, buckets still fill the groups from the first to the
// last, so that no query looks outside of them.
TEST(RibbonDirectory, DamageIsRefusedOrHarmless) {
  constexpr uint64_t kBuckets = 200;
  const std::vector<uint8_t> bytes = Written(OffsetsOf(std::vector<uint32_t>(kBuckets, 33)));
  int refused = 0;
  for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
    std::vector<uint8_t> damaged = bytes;
    damaged[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const Directory directory(damaged.data(), kBuckets);
    const auto groups = static_cast<int64_t>(CountGroups(directory, kBuckets));
    refused += groups == 0;
    for (uint64_t i = 0; groups != 0 && i < kBuckets; i++) {
      const Bucket bucket = directory.At(i);
      const int64_t end = bucket.first_group + static_cast<int64_t>(bucket.groups);
      ASSERT_EQ(end, i + 1 < kBuckets ? directory.At(i + 1).first_group : groups) << bit;
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace rocksieve::ribbon
