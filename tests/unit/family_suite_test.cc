// SPDX-License-Identifier: Apache-2.0
// What every family promises, to all keys and to keys that an attacker chose.
#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/filter/builder.h"
#include "lib/filter/family.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// One suite, run for each of them at several budgets.

class EveryFamily : public ::testing::TestWithParam<const char*> {
 protected:
  FilterSpec spec() const { return Spec(GetParam()); }
  // How many parts a filter of keys has depends on the keys, which shows in small ones: their size
  // is not known beforehand.
  bool HasKnownSize(size_t keys) const {
    return keys == 0 || keys > 1000 || FindFamily(spec().family)->build_of_keys == nullptr;
  }
};

TEST_P(EveryFamily, NeverLosesAKeyAtAnySize) {
  FilterBuilder builder(spec());
  for (size_t keys = 0; keys < 3000; keys += 1 + keys / 9) {
    for (size_t i = 0; i < keys; i++) builder.AddKey("key" + std::to_string(i));
    const FilterBlock block = builder.Finish();
    const ExactCopy copy(block.view());
    const OpenedFilter opened = OpenFilter(copy.view());
    ASSERT_EQ(opened.state, BlockState::kIntact) << keys << " keys";
    EXPECT_EQ(opened.info.key_count, keys);
    for (size_t i = 0; i < keys; i++) {
      ASSERT_TRUE(opened.filter->MayContain("key" + std::to_string(i))) << keys << " keys";
    }
  }
}

TEST_P(EveryFamily, HoldsNothingIfNothingWasAdded) {
  const FilterBlock block = BuildFilter(spec(), {});
  const OpenedFilter opened = OpenFilter(block.view());
  ASSERT_EQ(opened.state, BlockState::kIntact);
  for (const std::string& key : NumberedKeys(100)) EXPECT_FALSE(opened.filter->MayContain(key));
  EXPECT_FALSE(opened.filter->MayContain(""));
  EXPECT_EQ(ExpectedFalsePositiveRate(opened.info), 0);
}

TEST_P(EveryFamily, TakesKeysOfAnyLength) {
  std::vector<std::string> keys;
  for (size_t length = 0; length <= 300; length++) keys.emplace_back(length, 'x');
  for (size_t length : {1000, 65536, 1 << 20}) keys.emplace_back(length, '\xFF');
  keys.emplace_back("\0\0\0", 3);
  const FilterBlock block = BuildFilter(spec(), keys);
  const OpenedFilter opened = OpenFilter(block.view());
  ASSERT_EQ(opened.state, BlockState::kIntact);
  for (const std::string& key : keys) EXPECT_TRUE(opened.filter->MayContain(key)) << key.size();
}

TEST_P(EveryFamily, DuplicatesChangeNothingButTheCount) {
  // The same key a thousand times in a row counts once.
  FilterBuilder builder(spec());
  for (int i = 0; i < 1000; i++) builder.AddKey("same");
  EXPECT_EQ(builder.key_count(), 1u);
  // Each key many times, not adjacent.
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 50; i++) builder.AddKey("again" + std::to_string(i));
  }
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  ASSERT_EQ(opened.state, BlockState::kIntact);
  EXPECT_TRUE(opened.filter->MayContain("same"));
  for (int i = 0; i < 50; i++) EXPECT_TRUE(opened.filter->MayContain("again" + std::to_string(i)));
}

TEST_P(EveryFamily, BytesDependOnTheSetOfKeysOnly) {
  std::vector<std::string> keys = NumberedKeys(5000);
  const FilterBlock sorted = BuildFilter(spec(), keys);
  std::shuffle(keys.begin(), keys.end(), std::mt19937(3));
  EXPECT_EQ(BuildFilter(spec(), keys).view(), sorted.view());
  keys.push_back("one more");
  EXPECT_NE(BuildFilter(spec(), keys).view(), sorted.view());
}

TEST_P(EveryFamily, ABuilderStartsAfreshAfterFinish) {
  FilterBuilder builder(spec());
  for (const std::string& key : NumberedKeys(3000, "first")) builder.AddKey(key);
  (void)builder.Finish();
  EXPECT_EQ(builder.key_count(), 0u);
  const std::vector<std::string> second = NumberedKeys(1000, "second");
  for (const std::string& key : second) builder.AddKey(key);
  EXPECT_EQ(builder.Finish().view(), BuildFilter(spec(), second).view());
}

TEST_P(EveryFamily, AnswersBatchesAsSingleQueries) {
  // The larger one fetches ahead what its batches read.
  for (size_t keys : {20000, 400000}) {
    const FilterBlock block = BuildFilter(spec(), NumberedKeys(keys));
    const OpenedFilter opened = OpenFilter(block.view());
    std::mt19937_64 random(5);
    for (size_t count : {0, 1, 2, 31, 32, 33, 1000}) {
      std::vector<uint64_t> hashes(count);
      for (size_t i = 0; i < count; i++) {
        hashes[i] = i % 2 ? random() : opened.filter->KeyHash("key" + std::to_string(i));
      }
      std::unique_ptr<bool[]> answers(new bool[count]);
      opened.filter->MayContainHashes(hashes.data(), count, answers.get());
      for (size_t i = 0; i < count; i++) {
        EXPECT_EQ(answers[i], opened.filter->MayContainHash(hashes[i]));
      }
    }
  }
}

TEST_P(EveryFamily, KeepsToTheBudget) {
  if (spec().unit != FilterSpec::Unit::kBitsPerKey) return;
  for (size_t keys : {2000, 20000, 200000}) {
    const FilterBlock block = BuildFilter(spec(), NumberedKeys(keys));
    const FilterBlockInfo info = OpenFilter(block.view()).info;
    const double range_bits = 8.0 * (info.smallest.size() + info.largest.size());
    const double bits = (8.0 * block.size - range_bits) / keys;
    // Lines are whole, and the frame counts against very small budgets only in part.
    const double grain = 8.0 * (32 + 35) / static_cast<double>(keys);
    EXPECT_NEAR(bits, spec().amount, spec().amount * 0.02 + grain) << keys << " keys";
  }
}

TEST_P(EveryFamily, EstimatesTheSizeOfABlock) {
  for (size_t keys : {0, 1, 100, 3000, 100000}) {
    if (!HasKnownSize(keys)) continue;
    const FilterBlock block = BuildFilter(spec(), NumberedKeys(keys));
    const FilterBlockInfo info = OpenFilter(block.view()).info;
    const double bytes =
        static_cast<double>(block.size - info.smallest.size() - info.largest.size());
    EXPECT_NEAR(EstimateBlockBytes(spec(), keys), bytes, 8 + 0.01 * bytes) << keys << " keys";
  }
  for (size_t bytes : {0, 36, 100, 4096, 100000}) {
    const size_t keys = EstimateKeyCount(spec(), bytes);
    if (keys > 0) {
      EXPECT_LE(EstimateBlockBytes(spec(), keys), bytes);
    }
    EXPECT_GT(EstimateBlockBytes(spec(), keys + 1), bytes);
  }
}

TEST_P(EveryFamily, KeepsTheMemoryOfItsSpecInTheSpaceOfItsOwnSize) {
  for (size_t keys : {50, 300, 3000, 5000, 20000}) {
    if (!HasKnownSize(keys)) continue;
    BlockBuilder builder(spec());
    for (const std::string& key : NumberedKeys(keys, "a rather long prefix of every key ")) {
      builder.AddKey(key);
    }
    const size_t space = builder.FittingBlockBytes();
    const double factor = builder.FactorWithin(space);
    EXPECT_GE(factor, 0.9999) << keys << " keys";
    // Few shards of a cuckoo filter grow by more than is expected of them.
    EXPECT_LE(builder.Finish(factor).size, space + space / 100) << keys << " keys";
  }
}

TEST_P(EveryFamily, FitsIntoTheSpaceThatItIsGiven) {
  for (size_t keys : {300, 3000, 30000}) {
    if (!HasKnownSize(keys)) continue;
    for (double share : {0.8, 1.0, 1.25}) {
      const auto space =
          static_cast<size_t>(100 + share * static_cast<double>(EstimateBlockBytes(spec(), keys)));
      BlockBuilder fitted(spec());
      for (const std::string& key : NumberedKeys(keys, "a rather long prefix of every key ")) {
        fitted.AddKey(key);
      }
      const double factor = fitted.FactorWithin(space);
      const size_t size = fitted.Finish(factor).size;
      // Very small filters cannot shrink below a line, or two bits per slot.
      if (factor > 0.51) {
        EXPECT_LE(size, space) << keys << " keys, factor " << factor;
      }
    }
  }
}

TEST_P(EveryFamily, RefusesSpecsThatNoTextStandsFor) {
  FilterSpec wrong = spec();
  wrong.amount = std::nan("");
  EXPECT_THROW(FilterBuilder{wrong}, std::invalid_argument);
  wrong.amount = 1e300;
  EXPECT_THROW(FilterBuilder{wrong}, std::invalid_argument);
  wrong = spec();
  wrong.family = static_cast<Family>(9);
  EXPECT_THROW(FilterBuilder{wrong}, std::invalid_argument);
  wrong = spec();
  wrong.fast = true;
  wrong.thorough = wrong.family == Family::kBloom;
  EXPECT_THROW(FilterBuilder{wrong}, std::invalid_argument);
}

TEST_P(EveryFamily, MoreMemoryMeansFewerFalsePositives) {
  BlockBuilder builder(spec());
  double rates[2];
  size_t sizes[2];
  for (int larger : {0, 1}) {
    for (const std::string& key : NumberedKeys(5000)) builder.AddKey(key);
    const FilterBlock block = builder.Finish(larger ? 1.25 : 0.9);
    sizes[larger] = block.size;
    rates[larger] = ExpectedFalsePositiveRate(OpenFilter(block.view()).info);
    // Lines and whole columns of small blocks are coarse.
    const double estimated = EstimateRate(spec(), 5000, block.size);
    // Of keys that it has not seen, a filter of keys promises the worst.
    if (FindFamily(spec().family)->build_of_keys == nullptr) {
      EXPECT_LE(estimated, 1.3 * rates[larger]);
    }
    EXPECT_GE(estimated, rates[larger] / 1.3);
  }
  EXPECT_LE(sizes[0], sizes[1]);
  EXPECT_GE(rates[0], rates[1]);
}

TEST_P(EveryFamily, VerifiesWhatItBuilt) {
  BlockBuilder builder(spec());
  builder.KeepKeysForVerification();
  for (size_t keys : {0, 1, 2000}) {
    for (const std::string& key : NumberedKeys(keys)) builder.AddKey(key);
    const FilterBlock block = builder.Finish();
    EXPECT_EQ(builder.Verify(block.view()), "");
    EXPECT_EQ(builder.Verify(block.view()), "") << "asked twice";
    std::string damaged(block.view());
    damaged[damaged.size() / 2] ^= 1;
    EXPECT_NE(builder.Verify(damaged), "");
    if (keys > 1) {  // a filter of one column has any single key by one chance in two
      const FilterBlock other = BuildFilter(spec(), {"something else"});
      EXPECT_NE(builder.Verify(other.view()), "");
    }
  }
}

TEST_P(EveryFamily, SaltedFiltersOfTheSameKeysErrDifferently) {
  FilterSpec salted = spec();
  salted.salted = true;
  const std::vector<std::string> keys = NumberedKeys(2000);
  const FilterBlock first = BuildFilter(salted, keys), second = BuildFilter(salted, keys);
  const OpenedFilter a = OpenFilter(first.view()), b = OpenFilter(second.view());
  ASSERT_EQ(a.state, BlockState::kIntact);
  ASSERT_EQ(b.state, BlockState::kIntact);
  EXPECT_NE(a.filter->salt(), b.filter->salt());
  for (const std::string& key : keys) {
    EXPECT_TRUE(a.filter->MayContain(key));
    EXPECT_TRUE(b.filter->MayContain(key));
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllSpecs, EveryFamily,
    ::testing::Values(
        "rocksieve.bloom:1", "rocksieve.bloom:2.5", "rocksieve.bloom:4", "rocksieve.bloom:5",
        "rocksieve.bloom:6.5", "rocksieve.bloom:7.2", "rocksieve.bloom:10", "rocksieve.bloom:13.7",
        "rocksieve.bloom:20", "rocksieve.bloom:64", "rocksieve.bloom:10:thorough",
        "rocksieve.bloom:10:fast", "rocksieve.bloom:50%", "rocksieve.bloom:0.1%",
        "rocksieve.cuckoo:2.5", "rocksieve.cuckoo:6.3", "rocksieve.cuckoo:10",
        "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:29", "rocksieve.cuckoo:30.2",
        "rocksieve.cuckoo:64", "rocksieve.cuckoo:10:thorough", "rocksieve.cuckoo:50%",
        "rocksieve.cuckoo:0.0001%", "rocksieve.ribbon:1.1", "rocksieve.ribbon:2.5",
        "rocksieve.ribbon:6.3", "rocksieve.ribbon:9.4", "rocksieve.ribbon:10",
        "rocksieve.ribbon:17.2", "rocksieve.ribbon:25", "rocksieve.ribbon:32",
        "rocksieve.ribbon:10:thorough", "rocksieve.ribbon:50%", "rocksieve.ribbon:0.1%",
        "rocksieve.ribbon:0.0001%", "rocksieve.ribbon:0.0000001%", "rocksieve.cuckoo:0.0000001%",
        "rocksieve.range:6", "rocksieve.range:12.5", "rocksieve.range:25", "rocksieve.range:0.1%"),
    [](const auto& test) {
      std::string name = test.param;
      for (char& c : name) {
        if (c == '%') c = 'p';
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
      }
      return name;
    });

// The rate that is observed is the rate that is promised. It is the mean over all sets of keys,
// from which single small filters deviate, so several of them are asked; the missing keys are as
// many as 2,000 false positives need, within bounds.
class EveryRate : public ::testing::TestWithParam<std::tuple<const char*, size_t>> {};

TEST_P(EveryRate, IsObservedAsPromised) {
  const auto [text, keys] = GetParam();
  const double promised = ExpectedFalsePositiveRate(Spec(text), keys);
  if (Spec(text).unit == FilterSpec::Unit::kFalsePositiveRate) {
    // What was asked for, with hardly more bits than that takes.
    EXPECT_LE(promised, Spec(text).amount * 1.005);
    if (keys > 5000) {
      EXPECT_GE(promised, Spec(text).amount * 0.95);
    }
  }
  const int filters = keys < 5000 ? 60 : 1;
  const int probes_per_filter = static_cast<int>(std::clamp(2000 / promised, 2e5, 4e6)) / filters;
  int positives = 0;
  for (int f = 0; f < filters; f++) {
    const std::string name = std::to_string(f);
    const FilterBlock block = BuildFilter(Spec(text), NumberedKeys(keys, "key" + name + "-"));
    const OpenedFilter opened = OpenFilter(block.view());
    ASSERT_EQ(opened.state, BlockState::kIntact);
    // A small shard that had to grow has a little less load than was planned; the groups of a small
    // ribbon filter are whole, and the more there are, the narrower.
    EXPECT_NEAR(ExpectedFalsePositiveRate(opened.info), promised, promised * 0.12);
    for (int i = 0; i < probes_per_filter; i++) {
      positives += opened.filter->MayContain("missing" + name + "-" + std::to_string(i));
    }
  }
  const double probes = static_cast<double>(probes_per_filter) * filters;
  const double three_errors = 3 * std::sqrt(promised * (1 - promised) / probes);
  EXPECT_NEAR(positives / probes, promised, std::max(0.1 * promised, three_errors)) << positives;
}

constexpr const char* kRateSpecs[] = {
    "rocksieve.bloom:1", "rocksieve.bloom:3", "rocksieve.bloom:5", "rocksieve.bloom:8",
    "rocksieve.bloom:10", "rocksieve.bloom:12.5", "rocksieve.bloom:16", "rocksieve.bloom:20",
    "rocksieve.bloom:1%", "rocksieve.bloom:0.01%", "rocksieve.bloom:10:thorough",
    "rocksieve.bloom:16:thorough", "rocksieve.bloom:10:fast", "rocksieve.bloom:20:fast",
    "rocksieve.bloom:1%:fast", "rocksieve.cuckoo:12.5:thorough", "rocksieve.cuckoo:3",
    "rocksieve.cuckoo:9", "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:16", "rocksieve.cuckoo:1%",
    "rocksieve.cuckoo:0.01%", "rocksieve.ribbon:1", "rocksieve.ribbon:1.6", "rocksieve.ribbon:3",
    "rocksieve.ribbon:7.4", "rocksieve.ribbon:10", "rocksieve.ribbon:12.5", "rocksieve.ribbon:50%",
    "rocksieve.ribbon:1%", "rocksieve.ribbon:0.1%", "rocksieve.ribbon:0.01%",
    "rocksieve.ribbon:10:thorough"};

INSTANTIATE_TEST_SUITE_P(AllSizes, EveryRate,
                         ::testing::Combine(::testing::ValuesIn(kRateSpecs),
                                            ::testing::Values(1000, 20000)));

// By themselves, since they take long: tests/CMakeLists.txt.
INSTANTIATE_TEST_SUITE_P(MillionKeys, EveryRate,
                         ::testing::Combine(::testing::ValuesIn(kRateSpecs),
                                            ::testing::Values(1000000)));

INSTANTIATE_TEST_SUITE_P(TenMillionKeys, EveryRate,
                         ::testing::Combine(::testing::Values("rocksieve.bloom:10",
                                                              "rocksieve.cuckoo:12.5",
                                                              "rocksieve.ribbon:10"),
                                            ::testing::Values(10000000)));

// Keys that an attacker chose: a filter without a salt is known to everybody who knows its keys.

constexpr size_t kChosen = 100000;

// Missing keys that pass the filter, found by trying.
std::vector<std::string> KeysThatPass(const Filter& filter) {
  std::vector<std::string> chosen;
  for (uint64_t i = 0; chosen.size() < kChosen; i++) {
    std::string key = "attack" + std::to_string(i);
    if (filter.MayContain(key)) chosen.push_back(std::move(key));
  }
  return chosen;
}

size_t CountPassing(const Filter& filter, const std::vector<std::string>& keys) {
  size_t passing = 0;
  for (const std::string& key : keys) passing += filter.MayContain(key);
  return passing;
}

class ChosenKeys : public ::testing::TestWithParam<const char*> {};

TEST_P(ChosenKeys, PassTheUnsaltedFilterAndNotTheSaltedOne) {
  const std::string text = GetParam();
  const std::vector<std::string> keys = NumberedKeys(20000);
  const FilterBlock plain_block = BuildFilter(Spec(text), keys);
  const OpenedFilter plain = OpenFilter(plain_block.view());
  const std::vector<std::string> chosen = KeysThatPass(*plain.filter);
  EXPECT_EQ(CountPassing(*plain.filter, chosen), kChosen);

  const FilterBlock salted_block = BuildFilter(Spec(text + ":salted"), keys);
  const OpenedFilter salted = OpenFilter(salted_block.view());
  const double rate = ExpectedFalsePositiveRate(salted.info);
  const double expected = rate * kChosen;
  EXPECT_NEAR(static_cast<double>(CountPassing(*salted.filter, chosen)), expected,
              0.1 * expected + 5 * std::sqrt(expected))
      << "salt " << salted.info.salt;
}

INSTANTIATE_TEST_SUITE_P(Families, ChosenKeys,
                         ::testing::Values("rocksieve.bloom:8", "rocksieve.cuckoo:8",
                                           "rocksieve.ribbon:8"));

}  // namespace
}  // namespace rocksieve
