// SPDX-License-Identifier: Apache-2.0
// Shingles and MinHash: what is stated of their errors, beside what they do.
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rocksieve/estimate/min_hash.h>
#include <rocksieve/estimate/shingles.h>

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
      std::printf(
          "%-15s %3d keys, J %.2f: bias %+.4f, error %.4f, stated %.4f, theory %.4f; equal "
          "places: bias %+.4f, error %.4f, theory %.4f\n",
          one_permutation ? "one permutation" : "independent", static_cast<int>(either), jaccard,
          sum / kSets, error, states, std::sqrt(variance), places / kSets,
          std::sqrt(places_squares / kSets), std::sqrt(densified));
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

// Real texts, several of which are versions of each other.
TEST(MinHash, LicencesAreAsSimilarAsTheirShinglesAre) {
  std::map<std::string, std::set<std::string>> shingles;
  std::map<std::string, MinHash> signatures;
  const MinHashOptions options = SignatureOptions(256, MinHashMethod::kOnePermutation);
  for (const char* name :
       {"GPL-1", "GPL-2", "GPL-3", "LGPL-2", "LGPL-2.1", "GFDL-1.2", "GFDL-1.3"}) {
    const std::string text = Licence(name);
    MinHash& signature = signatures.emplace(name, options).first->second;
    VisitWordShingles(text, 3, [&, &all = shingles[name]](std::string_view shingle) {
      all.emplace(shingle);
      signature.Add(shingle);
    });
  }
  for (const auto& [a, in_a] : shingles) {
    for (const auto& [b, in_b] : shingles) {
      if (a >= b) continue;
      size_t both = 0;
      for (const std::string& shingle : in_a) both += in_b.count(shingle);
      const double truth =
          static_cast<double>(both) / static_cast<double>(in_a.size() + in_b.size() - both);
      const Estimate estimate = MinHash::Jaccard(signatures.at(a), signatures.at(b));
      EXPECT_NEAR(estimate.value, truth, 5 * estimate.standard_error) << a << " " << b;
      if (truth > 0.5) {
        std::printf("%s and %s: %.3f, estimated %.3f +- %.3f\n", a.c_str(), b.c_str(), truth,
                    estimate.value, estimate.standard_error);
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve
