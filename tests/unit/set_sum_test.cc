// SPDX-License-Identifier: Apache-2.0
// The certificate of a range.
#include "lib/sketch/set_sum.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

std::vector<KeyHash128> RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<KeyHash128> hashes(count);
  for (KeyHash128& hash : hashes) hash = {random(), random()};
  return hashes;
}

TEST(SetSum, OrderDoesNotMatterAndKeysCanBeTakenOut) {
  std::vector<KeyHash128> hashes = RandomHashes(1000, 1);
  const SetSummer summer(42);
  SetSum forward, backward, first_half, second_half;
  for (const KeyHash128& hash : hashes) summer.Add(hash, &forward);
  for (size_t i = hashes.size(); i-- > 0;) summer.Add(hashes[i], &backward);
  EXPECT_EQ(forward, backward);
  for (size_t i = 0; i < hashes.size(); i++) {
    summer.Add(hashes[i], i < 500 ? &first_half : &second_half);
  }
  SetSum both = first_half;
  both += second_half;
  EXPECT_EQ(both, forward);
  both -= second_half;
  EXPECT_EQ(both, first_half);
  for (const KeyHash128& hash : hashes) summer.Remove(hash, &forward);
  EXPECT_EQ(forward, SetSum());
}

// The sum modulo 2^128, by the compiler's own arithmetic.
TEST(SetSum, CarriesBetweenTheHalves) {
  const SetSummer summer(7);
  SetSum sum;
  unsigned __int128 expected = 0;
  for (const KeyHash128& hash : RandomHashes(100, 2)) {
    const SetSum one = summer.Of(hash);
    expected += static_cast<unsigned __int128>(one.high) << 64 | one.low;
    summer.Add(hash, &sum);
    ASSERT_EQ(sum.low, static_cast<uint64_t>(expected));
    ASSERT_EQ(sum.high, static_cast<uint64_t>(expected >> 64));
  }
}

// Additive and XOR relations among hashes are gone after mixing, and one bit changes everything.
TEST(SetSum, LinearRelationsDoNotSurvive) {
  for (uint64_t salt = 0; salt < 200; salt++) {
    const SetSummer summer(salt);
    const KeyHash128 base = RandomHashes(1, salt)[0];
    for (uint64_t step : {uint64_t{1}, uint64_t{1} << 63, uint64_t{0x100000001}}) {
      for (int form = 0; form < 3; form++) {
        // a + d == b + c in both halves, as a sum (0, 1) and as an XOR (2)
        KeyHash128 b = base, c = base, d = base;
        uint64_t KeyHash128::*half = form == 0 ? &KeyHash128::low : &KeyHash128::high;
        b.*half += step;
        c.*half = form == 2 ? c.*half ^ 12345 : c.*half + 12345;
        d.*half = form == 2 ? b.*half ^ 12345 : b.*half + 12345;
        SetSum left = summer.Of(base), right = summer.Of(b);
        left += summer.Of(d);
        right += summer.Of(c);
        ASSERT_NE(left, right) << "salt " << salt << " step " << step << " form " << form;
      }
    }
  }
}

TEST(SetSum, EveryInputBitChangesHalfOfTheSum) {
  const SetSummer summer(99);
  for (int bit = 0; bit < 128; bit++) {
    int changed = 0;
    for (KeyHash128 hash : RandomHashes(64, 3)) {
      const SetSum before = summer.Of(hash);
      (bit < 64 ? hash.low : hash.high) ^= uint64_t{1} << (bit % 64);
      const SetSum after = summer.Of(hash);
      changed += __builtin_popcountll(before.low ^ after.low) +
                 __builtin_popcountll(before.high ^ after.high);
    }
    EXPECT_NEAR(changed, 64 * 64, 400) << "bit " << bit;
  }
}

TEST(SetSum, GoldenBytes) {
  const SetSummer summer(0x0123456789abcdef);
  SetSum sum;
  summer.Add(HashKey128("apple", 1), &sum);
  summer.Add(HashKey128("pear", 1), &sum);
  std::string bytes;
  ByteWriter out(&bytes);
  sum.Write(&out);
  EXPECT_EQ(HexBytes(bytes), "020549075a011c056c07e7827ff42c677b");
  ByteReader in(bytes);
  SetSum back;
  EXPECT_TRUE(back.Read(&in));
  EXPECT_TRUE(in.Finished());
  EXPECT_EQ(back, sum);
  for (size_t size = 0; size < bytes.size(); size++) {
    const ExactCopy cut(std::string_view(bytes).substr(0, size));
    ByteReader short_of(cut.view());
    EXPECT_FALSE(back.Read(&short_of));
  }
}

TEST(HashForStep, DependsOnEveryBitAndOnTheSalt) {
  EXPECT_EQ(HashForStep({1, 2}, 3), 9452716549373661134u);
  std::set<uint64_t> seen;
  size_t made = 0;
  for (uint64_t salt = 0; salt < 20; salt++) {
    for (const KeyHash128& hash : RandomHashes(50, 4)) {
      for (int bit = 0; bit < 128; bit++, made++) {
        KeyHash128 other = hash;
        (bit < 64 ? other.low : other.high) ^= uint64_t{1} << (bit % 64);
        seen.insert(HashForStep(other, salt));
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

}  // namespace
}  // namespace rocksieve
