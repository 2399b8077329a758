// SPDX-License-Identifier: Apache-2.0
// Shingles and MinHash: what is stated of their errors, beside what they do.
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksieve/estimate/lsh_index.h>
#include <rocksieve/estimate/min_hash.h>
#include <rocksieve/estimate/shingles.h>

#include "lib/hash/mix.h"
#include "tests/toolbox/toolbox_support.h"

namespace rocksieve {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <typename Visit, typename... Arguments>
std::vector<std::string> Collect(const Visit& visit, const Arguments&... arguments) {
  std::vector<std::string> shingles;
  visit(arguments..., [&](std::string_view shingle) { shingles.emplace_back(shingle); });
  return shingles;
}

std::vector<std::string> Spots(std::string_view text, const SpotOptions& options = {}) {
  const SpotShingler shingler(options);
  return Collect([&](std::string_view t, const ShingleVisitor& v) { shingler.Visit(t, v); }, text);
}

TEST(Shingles, OfBytes) {
  const auto shingles = [](std::string_view text, size_t bytes) {
    return Collect(VisitByteShingles, text, bytes);
  };
  EXPECT_THAT(shingles("abcab", 2), ElementsAre("ab", "bc", "ca", "ab"));
  EXPECT_THAT(shingles("abc", 3), ElementsAre("abc"));
  EXPECT_THAT(shingles("ab", 3), ElementsAre("ab"));
  EXPECT_THAT(shingles("", 3), IsEmpty());
  EXPECT_THROW(shingles("ab", 0), std::invalid_argument);
}

TEST(Shingles, OfWords) {
  const auto shingles = [](std::string_view text, size_t words) {
    return Collect(VisitWordShingles, text, words);
  };
  EXPECT_THAT(shingles("  To be, or NOT to be!", 2),
              ElementsAre("to be", "be or", "or not", "not to", "to be"));
  EXPECT_THAT(shingles("Gr\xc3\xbc\xc3\x9f Gott \xe2\x80\x94 42 mal", 3),
              ElementsAre("gr\xc3\xbc\xc3\x9f gott \xe2\x80\x94", "gott \xe2\x80\x94 42",
                          "\xe2\x80\x94 42 mal"));
  EXPECT_THAT(shingles("don't", 2), ElementsAre("don t"));
  EXPECT_THAT(shingles("one two", 3), ElementsAre("one two"));
  EXPECT_THAT(shingles(" .,- ", 3), IsEmpty());
  EXPECT_THROW(shingles("ab", 0), std::invalid_argument);
}

// The example of the paper on SpotSigs, where it gives these signatures.
TEST(Shingles, AnchoredAtStopWordsAsInThePaper) {
  const std::string_view text =
      "At a rally to kick off a weeklong campaign for the South Carolina primary, Obama tried to "
      "set the record straight from an attack circulating widely on the Internet that is designed "
      "to play into prejudices against Muslims and fears of terrorism.";
  EXPECT_THAT(Spots(text), ElementsAre("a:rally:kick", "a:weeklong:campaign", "the:south:carolina",
                                       "the:record:straight", "an:attack:circulating",
                                       "the:internet:designed", "is:designed:play"));
  SpotOptions options;
  options.anchors = {"against", "that"};
  options.distance = 2;
  EXPECT_THAT(Spots(text, options), ElementsAre("that:play:muslims"));
  options.distance = 1;
  options.chain = 3;
  EXPECT_THAT(Spots(text, options),
              ElementsAre("that:designed:play:prejudices", "against:muslims:fears:terrorism"));
  options.anchors = {"rally"};  // no stop word, but not in chains all the same
  options.chain = 1;
  EXPECT_THAT(Spots("Rally, rally to the flag", options), ElementsAre("rally:flag", "rally:flag"));
  options.chain = 0;
  EXPECT_THROW(SpotShingler{options}, std::invalid_argument);
  EXPECT_THAT(Spots("Home Products Contact Imprint"), IsEmpty());
  options.chain = 1;
  options.anchors.clear();
  EXPECT_THROW(SpotShingler{options}, std::invalid_argument);
}

double ShareOfEqualPlaces(const MinHash& a, const MinHash& b) {
  const std::vector<uint64_t> in_a = a.Signature(), in_b = b.Signature();
  double equal = 0;
  for (size_t i = 0; i < in_a.size(); i++) equal += in_a[i] == in_b[i];
  return equal / static_cast<double>(in_a.size());
}

// Places of `size` that have one of `keys` keys, on average.
double UsedPlaces(double size, double keys) { return size * (1 - std::pow(1 - 1 / size, keys)); }

// Jaccard() and the places of Signature(), with few and with many keys for each place.
TEST(MinHash, UnbiasedWithTheStatedErrors) {
  constexpr int kSets = 1500;
  constexpr double kSize = 64;
  for (const MinHashMethod method : kMinHashMethods) {
    for (const auto& [either, both] : std::vector<std::pair<uint64_t, uint64_t>>{
             {20, 10}, {60, 48}, {60, 12}, {300, 210}, {300, 60}}) {
      double sum = 0, squares = 0, stated = 0, places = 0, places_squares = 0, jaccard = 0;
      for (uint64_t set = 0; set < kSets; set++) {
        // The seed decides from where empty places borrow; the theory is of the mean over all.
        const SetPair pair = RandomPair(SignatureOptions(kSize, method, set), either, both, set);
        jaccard = pair.jaccard;
        const Estimate estimate = MinHash::Jaccard(pair.a, pair.b);
        sum += estimate.value - jaccard;
        squares += std::pow(estimate.value - jaccard, 2);
        stated += std::pow(estimate.standard_error, 2);
        const double equal = ShareOfEqualPlaces(pair.a, pair.b) - jaccard;
        places += equal;
        places_squares += equal * equal;
      }
      const double error = std::sqrt(squares / kSets), states = std::sqrt(stated / kSets);
      const double n = static_cast<double>(either), binomial = jaccard * (1 - jaccard);
      const bool one_permutation = method == MinHashMethod::kOnePermutation;
      const double used = one_permutation ? UsedPlaces(kSize, n) : kSize;
      const double variance =
          one_permutation ? binomial / used * (n - used) / (n - 1) : binomial / kSize;
      const double densified = variance + (kSize - used) / (kSize * kSize) * (binomial - variance);
      EXPECT_LE(std::abs(sum / kSets), 5 * error / std::sqrt(kSets));
      EXPECT_LE(std::abs(places / kSets), 5 * std::sqrt(places_squares / kSets / kSets));
      // 5 sigma of a measured spread are 9 %; places that differ in number add some more.
      EXPECT_NEAR(error, std::sqrt(variance), 0.12 * std::sqrt(variance));
      EXPECT_NEAR(states, error, 0.12 * error);
      EXPECT_NEAR(std::sqrt(places_squares / kSets), std::sqrt(densified),
                  0.12 * std::sqrt(densified));
    }
  }
}

// More empty places than the limit of attempts covers, and none at all.
TEST(MinHash, OptionsForAnError) {
  EXPECT_EQ(MinHashOptions::ForError(0.05).size, 100u);
  EXPECT_EQ(MinHashOptions::ForError(0.0079).size, 4006u);
  EXPECT_EQ(MinHashOptions::ForError(0.9).size, 1u);
  for (const double error : {0.0, -1.0, 1.0, 0.0078, std::nan("")}) {
    EXPECT_THROW(MinHashOptions::ForError(error), std::invalid_argument) << error;
  }
}

TEST(MinHash, SignaturesOfTinyAndOfEmptySets) {
  MinHash empty(SignatureOptions(4096, MinHashMethod::kOnePermutation)), one = empty, two = empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty.Signature(), std::vector<uint64_t>(4096, UINT64_MAX));
  EXPECT_EQ(MinHash::Jaccard(empty, empty).value, 0);
  one.Add("apple");
  EXPECT_EQ(one.Signature(), std::vector<uint64_t>(4096, one.KeyHash("apple")));
  EXPECT_EQ(MinHash::Jaccard(empty, one).value, 0);
  EXPECT_EQ(MinHash::Jaccard(one, one).value, 1);
  two.Add("apple");
  two.Add("pear");
  EXPECT_EQ(MinHash::Jaccard(one, two).value, 0.5);
  EXPECT_NEAR(ShareOfEqualPlaces(one, two), 0.5, 0.05);
  for (const MinHashMethod method : kMinHashMethods) {
    MinHash extremes(SignatureOptions(5, method));
    extremes.AddHash(0);
    extremes.AddHash(UINT64_MAX);
    EXPECT_TRUE(MinHash::Deserialize(extremes.Serialize(), nullptr));
    EXPECT_FALSE(extremes.empty());
  }
}

TEST(MinHash, MergesAndRefuses) {
  for (const MinHashMethod method : kMinHashMethods) {
    const MinHashOptions options = SignatureOptions(100, method, 3);
    MinHash a(options), b(options), both(options);
    for (int i = 0; i < 150; i++) {
      const std::string key = "key" + std::to_string(i);
      if (i < 100) a.Add(key);
      if (i >= 50) b.Add(key);
      both.Add(key);
      both.Add(key);
    }
    EXPECT_TRUE(a.Merge(b));
    EXPECT_EQ(a.Serialize(), both.Serialize());
    for (const MinHashOptions& other :
         {SignatureOptions(99, method, 3), SignatureOptions(100, method, 4),
          SignatureOptions(100, kMinHashMethods[method == kMinHashMethods[0]], 3)}) {
      EXPECT_FALSE(a.Merge(MinHash(other)));
      EXPECT_THROW(MinHash::Jaccard(a, MinHash(other)), std::invalid_argument);
    }
    EXPECT_THROW(MinHash(SignatureOptions(0, method)), std::invalid_argument);
    EXPECT_THROW(MinHash(SignatureOptions(4097, method)), std::invalid_argument);
  }
  EXPECT_THROW(MinHash(SignatureOptions(8, MinHashMethod{3})), std::invalid_argument);
}

}  // namespace

// LSH: the S-curve measured, and what an index finds.

namespace {

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
