// SPDX-License-Identifier: Apache-2.0
// LSH: the S-curve measured, and what an index finds.
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/estimate/lsh_index.h>

#include "lib/hash/mix.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// All bandings, slowly, with sums in place of the areas.
LshBanding BestOfAll(uint64_t size, double threshold, double miss_weight) {
  constexpr int kSteps = 2000;
  LshBanding best;
  double least = 1e300;
  for (uint64_t rows = 1; rows <= size; rows++) {
    for (uint64_t bands = 1; bands * rows <= size; bands++) {
      const LshBanding banding{bands, rows};
      double cost = 0;
      for (int i = 0; i < kSteps; i++) {
        const double s = (i + 0.5) / kSteps;
        const double meet = 1 - std::pow(1 - std::pow(s, rows), bands);
        cost += s < threshold ? meet : miss_weight * (1 - meet);
      }
      if (cost < least) {
        least = cost;
        best = banding;
      }
    }
  }
  return best;
}

TEST(LshBanding, IsTheBestForTheThreshold) {
  for (const auto& [size, threshold, weight] : std::vector<std::tuple<uint64_t, double, double>>{
           {64, 0.3, 1}, {64, 0.75, 1}, {64, 0.8, 5}, {24, 0.95, 0.2}, {1, 0.5, 1}}) {
    const LshBanding banding = LshBanding::ForThreshold(size, threshold, weight);
    const LshBanding best = BestOfAll(size, threshold, weight);
    EXPECT_EQ(banding.bands, best.bands) << size << " " << threshold;
    EXPECT_EQ(banding.rows, best.rows) << size << " " << threshold;
  }
  for (const double threshold : {0.5, 0.6, 0.8, 0.9}) {
    const LshBanding banding = LshBanding::ForThreshold(128, threshold);
    std::printf("128 places, threshold %.1f: %d bands of %d rows, half of the pairs meet at %.3f\n",
                threshold, static_cast<int>(banding.bands), static_cast<int>(banding.rows),
                banding.HalfPoint());
    EXPECT_NEAR(banding.HalfPoint(), threshold, 0.06);
    EXPECT_NEAR(banding.CandidateProbability(banding.HalfPoint()), 0.5, 1e-9);
    EXPECT_EQ(banding.CandidateProbability(0), 0);
    EXPECT_EQ(banding.CandidateProbability(1), 1);
  }
  EXPECT_THROW(LshBanding::ForThreshold(0, 0.5), std::invalid_argument);
  EXPECT_THROW(LshBanding::ForThreshold(4097, 0.5), std::invalid_argument);
  EXPECT_THROW(LshBanding::ForThreshold(10, 1), std::invalid_argument);
  EXPECT_THROW(LshBanding::ForThreshold(10, std::nan("")), std::invalid_argument);
  EXPECT_THROW(LshBanding::ForThreshold(10, 0.5, 0), std::invalid_argument);
}

TEST(LshIndex, CandidatesFollowTheSCurve) {
  constexpr int kPairs = 1000;
  for (const MinHashMethod method : kMinHashMethods) {
    const bool one_permutation = method == MinHashMethod::kOnePermutation;
    LshOptions options;
    options.signature = SignatureOptions(60, method);
    options.banding = LshBanding::ForThreshold(options.signature.size, 0.6);
    std::printf("%d bands of %d rows, %s:\n", static_cast<int>(options.banding.bands),
                static_cast<int>(options.banding.rows),
                one_permutation ? "one permutation" : "independent");
    const uint64_t keys = one_permutation ? 1000 : 60;
    for (uint64_t tenths = 2; tenths <= 9; tenths++) {
      int met = 0;
      for (uint64_t i = 0; i < kPairs; i++) {
        const SetPair pair = RandomPair(options.signature, keys, keys * tenths / 10, i);
        LshIndex index(options);
        ASSERT_TRUE(index.Add(0, pair.a));
        met += !index.Candidates(pair.b).empty();
      }
      const double expected =
          options.banding.CandidateProbability(static_cast<double>(tenths) / 10);
      std::printf("  similarity 0.%d: %.3f of the pairs meet, theory %.3f\n",
                  static_cast<int>(tenths), met / static_cast<double>(kPairs), expected);
      EXPECT_NEAR(met, kPairs * expected, 5 * std::sqrt(kPairs * expected * (1 - expected)) + 1);
    }
  }
}

// Families of ten sets that share three quarters of their keys; ids in no order.
TEST(LshIndex, FindsTheFamiliesAndForgetsTheRemoved) {
  LshOptions options;
  options.signature = SignatureOptions(128, MinHashMethod::kOnePermutation, 9);
  options.banding = LshBanding::ForThreshold(128, 0.4);
  LshIndex index(options), left(options), right(options);
  std::map<uint64_t, std::set<std::string>> sets;
  for (uint64_t family = 0; family < 20; family++) {
    for (uint64_t member = 0; member < 10; member++) {
      const uint64_t id = Mix64(family * 10 + member + 1);
      MinHash signature(options.signature);
      for (int key = 0; key < 200; key++) {
        const std::string name = std::to_string(family) + "/" + std::to_string(key) +
                                 (key < 150 ? "" : "/" + std::to_string(member));
        sets[id].insert(name);
        signature.Add(name);
      }
      ASSERT_TRUE(index.Add(id, signature));
      ASSERT_FALSE(index.Add(id, signature));
      ASSERT_TRUE((member % 2 == 0 ? left : right).Add(id, signature));
    }
  }
  ASSERT_TRUE(left.Merge(right));
  EXPECT_FALSE(left.Merge(right));
  EXPECT_EQ(left.Serialize(), index.Serialize());
  EXPECT_EQ(left.CandidatePairs(), index.CandidatePairs());

  // 150 of 250 keys in common: similarity 0.6, at 0.4 +- 0.043 none is missed.
  const std::vector<LshIndex::Pair> pairs = index.SimilarPairs(0.4);
  const double expected = 20 * 45 * options.banding.CandidateProbability(0.6);
  EXPECT_NEAR(static_cast<double>(pairs.size()), expected, 20);
  for (const LshIndex::Pair& pair : pairs) {
    EXPECT_LT(pair.a, pair.b);
    EXPECT_EQ(*sets[pair.a].begin(), *sets[pair.b].begin());  // of one family
    EXPECT_NEAR(pair.similarity.value, 0.6, 5 * pair.similarity.standard_error);
  }

  const std::string bytes = index.Serialize();
  const std::optional<LshIndex> read = LshIndex::Deserialize(bytes, nullptr);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->CandidatePairs(), index.CandidatePairs());
  const uint64_t id = pairs[0].a;
  const MinHash* signature = index.Find(id);
  ASSERT_NE(signature, nullptr);
  const std::vector<LshIndex::Match> matches = index.Similar(*signature, 0.4);
  ASSERT_FALSE(matches.empty());
  EXPECT_EQ(matches[0].id, id);
  EXPECT_EQ(matches[0].similarity.value, 1);
  const size_t memory_bytes = index.MemoryBytes();
  EXPECT_GT(memory_bytes, 200 * 128 * sizeof(uint64_t));

  const MinHash copy = *signature;
  EXPECT_TRUE(index.Remove(id));
  EXPECT_FALSE(index.Remove(id));
  EXPECT_EQ(index.Find(id), nullptr);
  for (const LshIndex::Match& match : index.Similar(copy, 0)) EXPECT_NE(match.id, id);
  EXPECT_TRUE(index.Add(id, copy));
  EXPECT_EQ(index.CandidatePairs(), read->CandidatePairs());
  for (const auto& entry : sets) EXPECT_TRUE(index.Remove(entry.first));
  EXPECT_EQ(index.size(), 0u);
  EXPECT_LT(index.MemoryBytes(), memory_bytes / 5);
  EXPECT_THAT(index.CandidatePairs(), IsEmpty());
  EXPECT_EQ(index.Serialize(), LshIndex(options).Serialize());
}

// All places of a set of one key have the same value; its bands are different ones nevertheless.
TEST(LshIndex, ASetOfOneKeyMeetsOnlyOthers) {
  LshOptions options;
  LshIndex index(options);
  MinHash one(options.signature);
  one.Add("apple");
  EXPECT_TRUE(index.Add(3, one));
  EXPECT_THAT(index.CandidatePairs(), IsEmpty());
  EXPECT_TRUE(index.Add(2, one));
  EXPECT_THAT(index.CandidatePairs(), ElementsAre(std::pair<uint64_t, uint64_t>(2, 3)));
  EXPECT_TRUE(index.Remove(3));
  EXPECT_THAT(index.Candidates(one), ElementsAre(2u));
}

TEST(LshIndex, RefusesWhatItCannotDo) {
  LshOptions options;
  options.signature = SignatureOptions(12, MinHashMethod::kOnePermutation);
  for (const LshBanding& banding :
       {LshBanding{0, 1}, LshBanding{1, 0}, LshBanding{5, 3}, LshBanding{uint64_t{1} << 63, 2},
        LshBanding{4, uint64_t{1} << 62}}) {
    options.banding = banding;
    EXPECT_THROW(LshIndex{options}, std::invalid_argument);
  }
  options.banding = {4, 3};
  LshIndex index(options);
  EXPECT_FALSE(index.Add(1, MinHash(options.signature)));  // an empty set
  EXPECT_THAT(index.Candidates(MinHash(options.signature)), IsEmpty());
  MinHash other(SignatureOptions(12, MinHashMethod::kOnePermutation, 1));
  other.Add("apple");
  EXPECT_FALSE(index.Add(1, other));
  EXPECT_THROW(index.Candidates(other), std::invalid_argument);
  options.banding = {3, 4};
  EXPECT_FALSE(index.Merge(LshIndex(options)));
}

}  // namespace
}  // namespace rocksieve
