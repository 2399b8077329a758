// SPDX-License-Identifier: Apache-2.0
// Densities of lookups, beside slow definitions of them, and what they save.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/budget/lookup_density.h"
#include "lib/budget/lookup_weights.h"

namespace rocksieve {
namespace {

using Random = std::mt19937_64;

double Uniform(Random* random) { return static_cast<double>((*random)() >> 11) / 0x1p53; }

// The share `lookups` of the samples in the share `space` of the bins from `begin` on.
struct Hot {
  double begin, space, lookups;
};

double PlaceOf(const Hot& hot, Random* random) {
  if (Uniform(random) < hot.lookups) return hot.begin + hot.space * Uniform(random);
  const double cold = (1 - hot.space) * Uniform(random);
  return cold < hot.begin ? cold : cold + hot.space;
}

Bins SamplesOf(const Hot& hot, int count, Random* random) {
  Bins bins(kDensityBins);
  for (int i = 0; i < count; i++) {
    const auto bin = static_cast<size_t>(PlaceOf(hot, random) * kDensityBins);
    bins[std::min(bin, kDensityBins - 1)]++;
  }
  return bins;
}

// What is true, not what samples say.
Bins ExpectedOf(const Hot& hot) {
  Bins bins(kDensityBins);
  constexpr int kPerBin = 64;
  for (size_t i = 0; i < kDensityBins * kPerBin; i++) {
    const double place = (static_cast<double>(i) + 0.5) / (kDensityBins * kPerBin);
    const bool is_hot = place >= hot.begin && place < hot.begin + hot.space;
    bins[i / kPerBin] += is_hot ? hot.lookups / hot.space : (1 - hot.lookups) / (1 - hot.space);
  }
  return bins;
}

constexpr Hot kEven = {0, 1, 1}, k8020 = {0.37, 0.2, 0.8}, k9010 = {0.37, 0.1, 0.9};

// log2 of the probability of samples in these bins, one after the other, in each interval either
// even or divided into halves with an unknown share, with equal odds.
long double Log2Probability(const Bins& counts, size_t begin, size_t end) {
  if (end - begin == 1) return 0;
  const size_t middle = (begin + end) / 2;
  long double total = 0, even = 0, seen = 0, seen_left = 0;
  for (size_t i = begin; i < end; i++) total += counts[i];
  even = -total * std::log2(static_cast<long double>(end - begin));
  long double split = Log2Probability(counts, begin, middle) + Log2Probability(counts, middle, end);
  for (size_t i = begin; i < end; i++) {
    for (int n = 0; n < static_cast<int>(counts[i]); n++) {
      const long double half = i < middle ? seen_left : seen - seen_left;
      split += std::log2((half + 0.5L) / (seen + 1));
      seen++;
      if (i < middle) seen_left++;
    }
  }
  const long double most = std::max(even, split);
  return most + std::log2(std::exp2(even - most) + std::exp2(split - most)) - 1;
}

// The probability of one sample more in a bin, given the others.
TEST(LookupDensity, IsWhatTheSamplesLetExpect) {
  Random random(7);
  for (const int count : {0, 1, 7, 60, 400}) {
    const Bins counts = SamplesOf(k8020, count, &random);
    const Bins density = SmoothDensity(counts);
    const long double before = Log2Probability(counts, 0, kDensityBins);
    double sum = 0;
    for (size_t bin = 0; bin < kDensityBins; bin++) {
      sum += density[bin];
      if (bin % 5 != 0) continue;
      Bins more = counts;
      more[bin]++;
      const long double after = Log2Probability(more, 0, kDensityBins);
      EXPECT_NEAR(density[bin], kDensityBins * std::exp2(after - before), 1e-6 * density[bin]);
    }
    EXPECT_NEAR(sum, kDensityBins, 1e-6);
  }
}

TEST(LookupDensity, WhatIsAccessedOftenAndNeverReadIsCached) {
  Bins reads(kDensityBins), accesses(kDensityBins);
  EXPECT_EQ(ReadShare(reads, accesses), Bins(kDensityBins, 1));
  for (size_t i = 50; i < 100; i++) accesses[i] = 5;
  for (size_t i = 150; i < 200; i++) accesses[i] = reads[i] = 5;
  const Bins share = ReadShare(reads, accesses);
  EXPECT_LT(share[75], 0.03);
  EXPECT_LT(share[98], 0.1);
  for (const size_t bin : {size_t{20}, size_t{49}, size_t{100}}) EXPECT_EQ(share[bin], 1) << bin;
  EXPECT_EQ(share[175], 1);
}

TEST(LookupDensity, FollowsWhatStays) {
  Random random(7);
  for (const auto& [hot, most] : {std::pair(k8020, 1 / 2.2), std::pair(k9010, 1 / 5.2)}) {
    std::vector<Bins> stretches;
    for (int i = 0; i < 8; i++) stretches.push_back(SamplesOf(hot, 512, &random));
    EXPECT_LT(CostBesideEven(BestDensity(stretches), ExpectedOf(hot)), most);
    stretches.resize(2);  // too little to go by
    EXPECT_EQ(BestDensity(stretches), Bins(kDensityBins, 1));
  }
}

std::string HexKey(double place) {
  char text[24];
  std::snprintf(text, sizeof(text), "user%016llx",
                static_cast<unsigned long long>(place * 0x1p63) * 2);
  return text;
}

// Two levels of files over the key space.
class FilesOfTree {
 public:
  FilesOfTree(double begin, double end) {
    for (const int count : {40, 5}) {
      for (int i = 0; i < count; i++) {
        const double width = (end - begin) / count;
        keys_.push_back(HexKey(begin + width * i));
        keys_.push_back(HexKey(begin + width * (i + 0.999)));
      }
    }
    for (size_t i = 0; i < keys_.size(); i += 2) {
      files_.push_back({keys_[i], keys_[i + 1], 10000, 10000});
    }
  }
  const std::vector<BudgetedFile>& files() const { return files_; }

 private:
  std::vector<std::string> keys_;
  std::vector<BudgetedFile> files_;
};

std::deque<HeardLookups> HeardOf(const Hot& hot, int stretches, Random* random) {
  std::deque<HeardLookups> heard(stretches);
  for (HeardLookups& stretch : heard) {
    for (int i = 0; i < 512; i++) {
      stretch.absent_keys.push_back(HexKey(PlaceOf(hot, random)));
    }
  }
  return heard;
}

TEST(LookupDensity, GivesFilesTheirShareOfLookups) {
  Random random(7);
  const FilesOfTree tree(0, 1);
  const auto density = LookupDensity::Learn(tree.files(), HeardOf(k8020, 8, &random));
  ASSERT_NE(density, nullptr);
  const std::vector<double> weights = LookupWeightsBothWays(tree.files(), *density).heard;
  std::vector<double> shares(weights.size());
  constexpr int kLookups = 100000;
  for (int i = 0; i < kLookups; i++) {
    const std::string key = HexKey(PlaceOf(k8020, &random));
    for (size_t f = 0; f < shares.size(); f++) {
      const BudgetedFile& file = tree.files()[f];
      if (file.smallest <= key && key <= file.largest) shares[f] += 1.0 / kLookups;
    }
  }
  for (size_t f = 0; f < shares.size(); f++) EXPECT_NEAR(weights[f], shares[f], 0.3 * shares[f]);
}

TEST(LookupDensity, IsNullWhereLookupsAreEven) {
  Random random(7);
  const FilesOfTree tree(0.2, 0.9);
  EXPECT_EQ(LookupDensity::Learn({}, HeardOf(k8020, 8, &random)), nullptr);
  EXPECT_EQ(LookupDensity::Learn(tree.files(), {}), nullptr);
  EXPECT_EQ(LookupDensity::Learn(tree.files(), HeardOf({0.2, 0.7, 1}, 8, &random)), nullptr);
}

TEST(LookupDensity, CountsAKeyThatIsAskedOverAndOverOnce) {
  Random random(7);
  const FilesOfTree tree(0, 1);
  std::deque<HeardLookups> heard = HeardOf(kEven, 8, &random);
  for (HeardLookups& stretch : heard) {
    for (size_t i = 0; i < 300; i++) stretch.absent_keys[i] = HexKey(0.5);
  }
  EXPECT_EQ(LookupDensity::Learn(tree.files(), heard), nullptr);
}

// Where false positives find their blocks in the cache, they are not what reads cost.
TEST(LookupDensity, LooksAtWhatFalsePositivesRead) {
  Random random(7);
  const FilesOfTree tree(0, 1);
  for (const Hot& hot : {k8020, k9010}) {
    std::deque<HeardLookups> heard = HeardOf(hot, 8, &random);
    for (HeardLookups& stretch : heard) {
      for (int i = 0; i < 40; i++) {
        const double place = PlaceOf(hot, &random);
        const bool is_hot = place >= hot.begin && place < hot.begin + hot.space;
        stretch.passed.push_back({HexKey(place), false, !is_hot});
      }
    }
    const auto density = LookupDensity::Learn(tree.files(), heard);
    if (density == nullptr) continue;
    const auto between = [&](double begin, double end) {
      return density->Between(density->PlaceOf(HexKey(begin)), density->PlaceOf(HexKey(end)));
    };
    // But for the bins that are partly hot.
    const double hot_density = between(hot.begin + 0.01, hot.begin + hot.space - 0.01);
    EXPECT_GE(hot_density, 0.99);
    EXPECT_LT(hot_density, 1.4 * between(0, 0.9999));
  }
}

}  // namespace

// Key shares of files, beside trees whose keys are all known.

namespace {

using Random = std::mt19937_64;
using Keys = std::vector<std::string>;

// A tree whose files hold real keys.
class TreeOfKeys {
 public:
  // Cuts sorted keys into files of at most so many.
  void AddLevel(Keys keys, size_t keys_per_file) {
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); i += keys_per_file) {
      const size_t end = std::min(i + keys_per_file, keys.size());
      ends_.push_back({keys[i], keys[end - 1], end - i});
    }
    keys_.insert(keys_.end(), keys.begin(), keys.end());
  }

  void ExpectSharesWithin(double relative, double absolute) {
    std::sort(keys_.begin(), keys_.end());
    std::vector<BudgetedFile> ranges;
    for (const auto& [first, last, count] : ends_) ranges.push_back({first, last, count});
    const std::vector<double> shares = LookupWeights(ranges);
    ASSERT_EQ(shares.size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); i++) {
      const auto begin = std::lower_bound(keys_.begin(), keys_.end(), ranges[i].smallest);
      const auto end = std::upper_bound(keys_.begin(), keys_.end(), ranges[i].largest);
      const double share = static_cast<double>(end - begin) / static_cast<double>(keys_.size());
      EXPECT_NEAR(shares[i], share, relative * share + absolute)
          << ranges[i].smallest << " .. " << ranges[i].largest;
    }
  }

 private:
  struct Ends {
    std::string first, last;
    size_t count;
  };
  std::vector<Ends> ends_;
  Keys keys_;
};

std::string Decimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%012llu", static_cast<unsigned long long>(number));
  return text;
}
std::string Binary(uint64_t number) {
  std::string text(16, '0');
  for (int i = 0; i < 8; i++) text[i] = static_cast<char>(number >> (56 - 8 * i));
  return text;
}
std::string Hexadecimal(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%016llx",
                static_cast<unsigned long long>(number * 0x9E3779B97F4A7C15));
  return text;
}
// Half of all keys in a thousandth of the numbers.
std::string Skewed(uint64_t number) { return Decimal(number % 2 ? number : number / 1000); }

using KeyShape = std::string (*)(uint64_t);
class KeySharesOf : public testing::TestWithParam<KeyShape> {
 protected:
  Keys Draw(size_t count, uint64_t most = 3000000) {
    Keys keys;
    for (size_t i = 0; i < count; i++) keys.push_back(GetParam()(random_() % most));
    return keys;
  }
  Random random_{7};
};

TEST_P(KeySharesOf, AreThoseOfTheKeys) {
  TreeOfKeys tree;
  tree.AddLevel(Draw(60000), 2000);
  tree.AddLevel(Draw(8000), 2000);
  tree.AddLevel(Draw(1000), 1000);
  tree.AddLevel(Draw(1000), 1000);
  tree.ExpectSharesWithin(0.25, 0.01);
  TreeOfKeys universal;
  for (const size_t count : {20000, 5000, 2000, 500}) universal.AddLevel(Draw(count), count);
  universal.ExpectSharesWithin(0.15, 0.01);
}

TEST_P(KeySharesOf, OfSequentialRunsAreTheirShareOfTheKeys) {
  TreeOfKeys tree;
  Keys keys;
  for (uint64_t i = 0; i < 20000; i++) keys.push_back(GetParam()(i));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  const size_t run = keys.size() / 20;
  for (size_t i = 0; i < 20; i++) {
    tree.AddLevel(Keys(keys.begin() + i * run, keys.begin() + (i + 1) * run), run);
  }
  tree.ExpectSharesWithin(1e-6, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Shapes, KeySharesOf,
                         testing::Values(Decimal, Binary, Hexadecimal, Skewed));

// A small file in the middle of a large one: numbers tell its share.
TEST(LookupWeights, OfASmallFileInsideALargeOne) {
  Keys all, few;
  for (uint64_t i = 0; i < 100000; i++) all.push_back(Decimal(i));
  for (uint64_t i = 50000; i < 50100; i++) few.push_back(Decimal(i));
  const std::vector<double> shares =
      LookupWeights({{all.front(), all.back(), 100000}, {few.front(), few.back(), 100}});
  EXPECT_NEAR(shares[0], 1, 1e-9);
  EXPECT_LT(shares[1], 0.15);  // evenly it would be a third
  EXPECT_GE(shares[1], 0.001);
}

TEST(LookupWeights, OfOddTrees) {
  EXPECT_TRUE(LookupWeights({}).empty());
  EXPECT_EQ(LookupWeights({{"a", "z", 10}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"a", "a", 1}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"", "", 3}}), std::vector<double>{1});
  EXPECT_EQ(LookupWeights({{"a", "b", 0}}), std::vector<double>{0});
  // Largest first, as under a reverse comparator.
  EXPECT_EQ(LookupWeights({{"z", "a", 10}}), std::vector<double>{1});
  // Two files of the same single key meet all lookups of it.
  const std::vector<double> same = LookupWeights({{"a", "a", 5}, {"a", "a", 5}});
  EXPECT_NEAR(same[0], 1, 1e-9);
  EXPECT_NEAR(same[1], 1, 1e-9);
  // Ranges that touch: each meets its own keys and at most a few of the other.
  const std::vector<double> touching = LookupWeights({{"a", "m", 50}, {"m", "z", 50}});
  EXPECT_NEAR(touching[0], 0.5, 0.06);
  // A file of no entries still has the keys of the others in its range.
  const std::vector<double> empty = LookupWeights({{"a", "z", 100}, {"b", "y", 0}});
  EXPECT_GT(empty[1], 0.5);
}

TEST(KeyScale, KeepsTheOrder) {
  Random random(11);
  std::vector<std::string> keys;
  for (int i = 0; i < 500; i++) {
    std::string key = "common";
    for (uint64_t n = random() % 6; n > 0; n--) key += static_cast<char>(random() % 256);
    keys.push_back(key);
  }
  std::vector<std::string_view> sample(keys.begin(), keys.begin() + 100);
  const KeyScale scale(sample);
  std::sort(sample.begin(), sample.end());
  for (size_t i = 1; i < sample.size(); i++) {
    EXPECT_LE(scale.PositionOf(sample[i - 1]), scale.PositionOf(sample[i]));
  }
}

}  // namespace

}  // namespace rocksieve
