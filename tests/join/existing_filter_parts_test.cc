// SPDX-License-Identifier: Apache-2.0
// What existing SST filters are made of: the stream, the set, and the choice; hostile bytes too.
#include "tests/join/existing_filters_support.h"

#include "lib/join/existing/existing_filters.h"

namespace rocksieve::join {
namespace {

ExistingFilter Fences(std::string smallest, std::string largest) {
  return {std::move(smallest), std::move(largest), FilterFormat::kNone, ""};
}

// As in docs/protocol.md.
TEST(ExistingFilterStream, TestVector) {
  std::string bytes;
  AppendExistingFilter({"ant", "bee", FilterFormat::kRocksDbBuiltin, "\1\2"}, &bytes);
  EXPECT_EQ(bytes, std::string("\x0b\x02\x03"
                               "ant"
                               "\x03"
                               "bee"
                               "\x01\x02"));
  ExistingFilterSet set;
  ASSERT_TRUE(set.Add({"ant", "bee", FilterFormat::kRocksDbBuiltin, "\1\2"}));
  EXPECT_EQ(set.DigestOf(1), 0x91526733542f8621u);
}

TEST(ExistingFilterStream, IsCutAnywhere) {
  std::mt19937_64 random(1);
  const auto [rows, unused] = RandomSides(2000, 0, 0, 1);
  const std::vector<std::string> kinds(20, "rocksieve.bloom:10");
  std::vector<ExistingFilter> filters = FilesOf(rows, kinds, &random);
  std::sort(filters.begin(), filters.end(),
            [](const auto& a, const auto& b) { return a.smallest < b.smallest; });
  std::string bytes;
  ExistingFilterSet sent;
  for (const ExistingFilter& filter : filters) {
    AppendExistingFilter(filter, &bytes);
    ASSERT_TRUE(sent.Add(filter));
  }
  for (const size_t longest : {1, 7, 100, 5000}) {
    ExistingFilterSet set;
    MemoryHold memory;
    ExistingFilterAssembler assembler(&set, 1 << 20, &memory);
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = std::min<size_t>(1 + random() % longest, bytes.size() - at);
      ASSERT_TRUE(assembler.Add(std::string_view(bytes).substr(at, size)).ok());
      at += size;
    }
    EXPECT_TRUE(assembler.AtBoundary());
    ASSERT_EQ(set.size(), sent.size());
    EXPECT_EQ(set.DigestOf(set.size()), sent.DigestOf(sent.size()));
  }
}

TEST(ExistingFilterStream, RefusesWhatItCannotHoldOrRead) {
  const auto add = [](const std::string& bytes, uint64_t most_bytes) {
    ExistingFilterSet set;
    MemoryHold memory;
    return ExistingFilterAssembler(&set, most_bytes, &memory).Add(bytes);
  };
  std::string two;
  AppendExistingFilter(Fences("b", "c"), &two);
  EXPECT_TRUE(add(two, 10000).ok());
  AppendExistingFilter(Fences("a", "c"), &two);
  EXPECT_TRUE(absl::IsInvalidArgument(add(two, 10000))) << "falls";
  std::string backwards;
  AppendExistingFilter(Fences("c", "b"), &backwards);
  EXPECT_TRUE(absl::IsInvalidArgument(add(backwards, 10000)));
  EXPECT_TRUE(absl::IsInvalidArgument(add(std::string(20, '\xff'), 10000)));
  EXPECT_TRUE(absl::IsInvalidArgument(add(std::string("\x03\x01\x7f"
                                                      "a"),
                                          10000)));
  EXPECT_TRUE(absl::IsResourceExhausted(add("\xff\xff\xff\xff\x7f", 10000)));
  // Many small ones take memory too.
  std::string many;
  for (int i = 0; i < 1000; i++) AppendExistingFilter(Fences("", ""), &many);
  EXPECT_TRUE(absl::IsResourceExhausted(add(many, 10000)));
}

TEST(ExistingFilterStream, NoBytesDoHarm) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 3000; round++) {
    std::string bytes;
    AppendExistingFilter(
        FilterOf(round % 2 == 0 ? "rocksieve.ribbon:8" : "builtin", {"a", "b", "c"}), &bytes);
    for (int flips = 1 + round % 5; flips > 0; flips--) {
      const size_t at = random() % std::min<size_t>(bytes.size(), 60);
      bytes[at] = static_cast<char>(random());
    }
    ExistingFilterSet set(DecodeTestBuiltin);
    MemoryHold memory;
    ExistingFilterAssembler assembler(&set, 1 << 16, &memory);
    if (!assembler.Add(bytes).ok()) continue;
    ExistingFilterSet::Sweep sweep(set);
    for (const char* key : {"", "a", "b", "zzz"}) sweep.MayContain(key);
  }
}

TEST(ExistingFilterSet, AsksEveryFilterThatHoldsTheKey) {
  ExistingFilterSet set(DecodeTestBuiltin);
  const std::vector<std::string> kinds = {"rocksieve.ribbon:0.001%", "builtin"};
  ASSERT_TRUE(set.Add(FilterOf("rocksieve.ribbon:0.001%", {"a", "m"})));
  ASSERT_TRUE(set.Add(FilterOf("builtin", {"b", "c"})));
  ASSERT_TRUE(set.Add(Fences("x", "y")));
  const std::vector<std::pair<std::string, bool>> keys = {
      {"", false},  {"a", true},  {"aa", false}, {"b", true},  {"bb", false},
      {"c", true},  {"d", false}, {"m", true},   {"n", false}, {"x", true},
      {"xx", true}, {"y", true},  {"yy", false}};
  ExistingFilterSet::Sweep sweep(set);
  for (const auto& [key, may] : keys) EXPECT_EQ(sweep.MayContain(key), may) << key;
  // From anywhere.
  for (size_t i = 0; i < keys.size(); i++) {
    ExistingFilterSet::Sweep from(set);
    EXPECT_EQ(from.MayContain(keys[i].first), keys[i].second) << keys[i].first;
  }
}

TEST(ExistingFilterSet, KnowsHowFarItCovers) {
  ExistingFilterSet set;
  EXPECT_FALSE(set.Covers("a"));
  ASSERT_TRUE(set.Add(Fences("b", "z")));
  EXPECT_TRUE(set.Covers("a"));
  EXPECT_TRUE(set.Covers("b"));  // up to but without
  EXPECT_FALSE(set.Covers("ba"));
  EXPECT_FALSE(set.Covers(std::nullopt));
  const uint64_t first = set.DigestOf(1);
  ASSERT_TRUE(set.Add(Fences("c", "d")));
  EXPECT_TRUE(set.Covers("c"));
  EXPECT_TRUE(set.IsCoveredBy(1, first, "c"));
  EXPECT_FALSE(set.IsCoveredBy(1, first + 1, "c"));
  EXPECT_FALSE(set.IsCoveredBy(1, first, "ca"));
  EXPECT_FALSE(set.IsCoveredBy(0, 0, "c"));
  EXPECT_TRUE(set.IsCoveredBy(0, 0, "b"));
  EXPECT_FALSE(set.IsCoveredBy(3, first, "a"));
  EXPECT_FALSE(set.IsCoveredBy(2, set.DigestOf(2), std::nullopt));
  set.Complete();
  EXPECT_TRUE(set.Covers(std::nullopt));
  EXPECT_TRUE(set.IsCoveredBy(2, set.DigestOf(2), std::nullopt));
}

TEST(ExistingFilterSet, CrowdsDoNotCostTheirSquare) {
  ExistingFilterSet set(DecodeTestBuiltin);
  const std::string nothing = TestBuiltinBlockOf({});
  for (int i = 0; i < 600; i++) {
    ASSERT_TRUE(set.Add({"a", "z", FilterFormat::kRocksDbBuiltin, nothing}));
  }
  ExistingFilterSet::Sweep sweep(set);
  EXPECT_TRUE(sweep.MayContain("b"));
}

TEST(ExistingFilterChoice, IsTheCheapest) {
  PlannerOptions planner;
  const auto side = [](double keys, double bits_per_key, double rate) {
    ExistingFilterSide result;
    result.keys = keys;
    result.offer.bytes = static_cast<uint64_t>(keys * bits_per_key / 8);
    result.offer.pass_rate = rate;
    result.accepted_bytes = uint64_t{64} << 20;
    result.readable_formats = 7;
    return result;
  };
  // Replicas: nothing beats reconciling.
  EXPECT_EQ(ChooseExistingFilters(side(1e6, 10, 0.001), side(1e6, 10, 0.001), planner),
            ExistingFilterChoice::kTooDear);
  // A small side's good filters against a large side; it does not matter which one asks.
  EXPECT_EQ(ChooseExistingFilters(side(1e5, 10.2, 0.001), side(2e7, 10.2, 0.001), planner),
            ExistingFilterChoice::kClient);
  EXPECT_EQ(ChooseExistingFilters(side(2e7, 10.2, 0.001), side(1e5, 10.2, 0.001), planner),
            ExistingFilterChoice::kServer);
  // Filters that pass nearly everything are worth nothing.
  EXPECT_EQ(ChooseExistingFilters(side(1e5, 10, 0.9), side(2e7, 10, 0.9), planner),
            ExistingFilterChoice::kTooDear);
  // Forced: those of the smaller side.
  planner.strategy = Strategy::kSstFilters;
  EXPECT_EQ(ChooseExistingFilters(side(1e6, 10, 0.01), side(2e6, 10, 0.01), planner),
            ExistingFilterChoice::kClient);
  ExistingFilterSide cannot = side(2e6, 10, 0.01);
  cannot.readable_formats = 0;
  ExistingFilterSide other = side(1e6, 10, 0.01);
  other.offer.formats = 4;
  cannot.offer = {};
  EXPECT_EQ(ChooseExistingFilters(other, cannot, planner), ExistingFilterChoice::kUnusable);
}

}  // namespace
}  // namespace rocksieve::join
