// SPDX-License-Identifier: Apache-2.0
// Joins that begin with filters which one side has already; and the set and the choice
// of those.
#include "lib/join/existing/existing_filters.h"

#include <rocksieve/filter.h>

#include "lib/join/rows/source.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

// Stands for RocksDB's formats: a bitmap of hashes, without a check word.
constexpr size_t kTestBits = 1 << 16;

size_t TestBitOf(std::string_view key) { return std::hash<std::string_view>()(key) % kTestBits; }

std::unique_ptr<KeyFilter> DecodeTestBuiltin(std::string_view block) {
  class Filter final : public KeyFilter {
   public:
    explicit Filter(std::string_view bytes) : bytes_(bytes) {}
    bool MayContain(std::string_view key) const override {
      const size_t bit = TestBitOf(key);
      return (bytes_[bit / 8] >> bit % 8 & 1) != 0;
    }

   private:
    const std::string_view bytes_;
  };
  if (block.size() != kTestBits / 8) return nullptr;
  return std::make_unique<Filter>(block);
}

std::string BlockOf(const std::string& spec_text, const std::vector<std::string>& keys) {
  FilterSpec spec;
  EXPECT_EQ(FilterSpec::Parse(spec_text, &spec), "");
  FilterBuilder builder(spec);
  for (const std::string& key : keys) builder.AddKey(key);
  return std::string(builder.Finish().view());
}

std::string TestBuiltinBlockOf(const std::vector<std::string>& keys) {
  std::string block(kTestBits / 8, '\0');
  for (const std::string& key : keys) {
    const size_t bit = TestBitOf(key);
    block[bit / 8] = static_cast<char>(block[bit / 8] | 1 << bit % 8);
  }
  return block;
}

ExistingFilter FilterOf(const std::string& kind, const std::vector<std::string>& sorted_keys) {
  ExistingFilter filter;
  filter.smallest = sorted_keys.front();
  filter.largest = sorted_keys.back();
  if (kind == "none") return filter;
  filter.format = kind == "builtin" ? FilterFormat::kRocksDbBuiltin : FilterFormat::kOurs;
  filter.block = kind == "builtin"   ? TestBuiltinBlockOf(sorted_keys)
                 : kind == "damaged" ? "rocksieve?" + std::string(100, 'x')
                                     : BlockOf(kind, sorted_keys);
  return filter;
}

class ExistingFilterSource final : public Source {
 public:
  ExistingFilterSource(Table rows, std::vector<ExistingFilter> filters)
      : rows_(std::move(rows)), filters_(std::move(filters)) {
    std::stable_sort(filters_.begin(), filters_.end(),
                     [](const auto& a, const auto& b) { return a.smallest < b.smallest; });
  }

  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return rows_.Scan(interval);
  }
  uint64_t EstimateKeys() override { return rows_.EstimateKeys(); }
  std::unique_ptr<ExistingFilterReader> ExistingFilters(const KeyInterval&) override {
    if (filters_.empty()) return nullptr;
    return std::make_unique<Reader>(this);
  }

  double pass_rate = 0.05;
  size_t fails_after = SIZE_MAX;  // filters

 private:
  class Reader final : public ExistingFilterReader {
   public:
    explicit Reader(ExistingFilterSource* source) : source_(source) {}
    ExistingFilterOffer Offer() override {
      ExistingFilterOffer offer;
      offer.pass_rate = source_->pass_rate;
      for (const ExistingFilter& filter : source_->filters_) {
        offer.bytes += filter.block.size() + 1;
        offer.formats |= BitOf(filter.format);
      }
      return offer;
    }
    bool Next(ExistingFilter* filter) override {
      if (failed() || next_ == source_->filters_.size()) return false;
      *filter = source_->filters_[next_++];
      return true;
    }
    bool failed() const override { return next_ >= source_->fails_after; }

   private:
    ExistingFilterSource* const source_;
    size_t next_ = 0;
  };

  MemorySource rows_;
  std::vector<ExistingFilter> filters_;
};

// As many files as there are kinds, each of a random part of the keys, and of keys that are gone.
std::vector<ExistingFilter> FilesOf(const Table& rows, const std::vector<std::string>& kinds,
                                    std::mt19937_64* random) {
  std::vector<std::vector<std::string>> files(kinds.size());
  for (const std::string& key : KeysOf(rows)) {
    files[(*random)() % files.size()].push_back(key);
    if ((*random)() % 4 == 0) files[(*random)() % files.size()].push_back(key);  // an old version
    if ((*random)() % 8 == 0) files[(*random)() % files.size()].push_back(key + "gone");
  }
  std::vector<ExistingFilter> filters;
  for (size_t i = 0; i < files.size(); i++) {
    std::sort(files[i].begin(), files[i].end());
    if (!files[i].empty()) filters.push_back(FilterOf(kinds[i], files[i]));
  }
  return filters;
}

struct FilterSettings : Settings {
  explicit FilterSettings(Strategy strategy = Strategy::kSstFilters,
                          uint64_t most_filter_bytes = uint64_t{64} << 20)
      : Settings(strategy) {
    client.existing.decode_builtin = DecodeTestBuiltin;
    client.existing.most_bytes = most_filter_bytes;
    server.existing = client.existing;
  }
};

// A client and a server of which one has filters.
struct OneWithFilters {
  OneWithFilters(bool from_client, const Table& here, const Table& there,
                 const std::vector<ExistingFilter>& filters)
      : client(here, from_client ? filters : std::vector<ExistingFilter>()),
        server(there, from_client ? std::vector<ExistingFilter>() : filters) {}
  Joined Join(Operation operation, const Settings& settings = FilterSettings()) {
    return JoinSources(operation, &client, &server, settings);
  }
  ExistingFilterSource client, server;
};

const std::vector<std::string> kAllKinds = {"rocksieve.bloom:10", "rocksieve.ribbon:10",
                                            "rocksieve.cuckoo:12", "builtin"};

TEST(ExistingFilters, OfEitherSideGiveTheSameAnswer) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {  // the last two with an empty side
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t client_keys = seed == 4 ? 0 : 1 + random() % 4000;
    const size_t server_keys = seed == 5 ? 0 : 1 + random() % 8000;
    const auto [here, there] =
        RandomSides(client_keys, server_keys, std::min(client_keys, server_keys) / 2, seed);
    for (const Operation operation : kAllOperations) {
      for (const bool from_client : {false, true}) {
        const std::vector<ExistingFilter> filters =
            FilesOf(from_client ? here : there, kAllKinds, &random);
        const Joined joined = OneWithFilters(from_client, here, there, filters).Join(operation);
        ExpectExactResult(operation, here, there, joined);
        EXPECT_EQ(joined.statistics.sst_filters_withdrawn_ranges, 0u);
        if (here.empty() || there.empty()) continue;
        EXPECT_EQ(joined.statistics.existing_choice,
                  from_client ? ExistingFilterChoice::kClient : ExistingFilterChoice::kServer);
        EXPECT_EQ(joined.statistics.sst_filters, filters.size());
        const size_t lonely = (from_client ? there : here).size();
        if (lonely > 2000) {
          EXPECT_GT(joined.statistics.sst_filters_pruned_keys, 0u);
        }
      }
    }
  }
}

TEST(ExistingFilters, WhatCannotBeReadDeniesNothing) {
  std::mt19937_64 random(7);
  const auto [here, there] = RandomSides(3000, 3000, 1000, 7);
  for (const std::vector<std::string>& kinds :
       {std::vector<std::string>{"none"}, {"damaged"}, {"none", "rocksieve.bloom:10", "damaged"}}) {
    const Joined joined = OneWithFilters(false, here, there, FilesOf(there, kinds, &random))
                              .Join(Operation::kSymmetric);
    ExpectExactResult(Operation::kSymmetric, here, there, joined);
    EXPECT_LT(joined.statistics.sst_filters_pruned_keys, 10u);  // outside of all fences
    EXPECT_EQ(joined.statistics.sst_filters_withdrawn_ranges, 0u);
  }
}

// The side that sends them holds them against its keys, so that no operation loses a key.
TEST(ExistingFilters, ThatLackKeysAreFoundOut) {
  for (const uint64_t seed : {11, 12, 13, 14}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto [here, there] = RandomSides(2500, 3500, 1500, seed);
    for (const bool from_client : {false, true}) {
      Table known = from_client ? here : there;
      // One key that both have, or half of all.
      if (seed % 2 == 0) {
        const std::string missing = here.front().first;
        std::erase_if(known, [&](const auto& row) { return row.first == missing; });
      } else {
        std::erase_if(known, [&](const auto&) { return random() % 2 == 0; });
      }
      for (const char* kind : {"rocksieve.ribbon:0.01%", "builtin"}) {
        const std::vector<ExistingFilter> filters = FilesOf(known, {kind}, &random);
        for (const Operation operation : kAllOperations) {
          const Joined joined = OneWithFilters(from_client, here, there, filters).Join(operation);
          ExpectExactResult(operation, here, there, joined);
          // One key in a range of seven may pass by accident.
          if (seed % 2 == 1) {
            EXPECT_GT(joined.statistics.sst_filters_withdrawn_ranges, 0u);
          }
          EXPECT_EQ(joined.statistics.repeated_ranges, 0u);
        }
      }
    }
  }
}

// Even if the message's own check is made to fit.
TEST(ExistingFilters, ThatChangedOnTheWayAreFoundOut) {
  std::mt19937_64 random(21);
  const auto [here, there] = RandomSides(2000, 3000, 1500, 21);
  int withdrawn = 0, refused = 0;
  for (int round = 0; round < 60; round++) {
    const bool from_client = round % 2 == 0;
    const Operation operation = kAllOperations[random() % 5];
    const uint64_t place = random(), clear = random() % 2;
    bool changed = false;
    FilterSettings settings;
    settings.tamper = ChangeKind<Filters>([&](Filters* filters) {
      std::string& piece = filters->piece;
      if (changed || piece.empty()) return;
      const size_t at = place % piece.size();
      if (clear == 1) {
        std::fill_n(piece.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min<size_t>(100, piece.size() - at), '\0');
      } else {
        piece[at] = static_cast<char>(piece[at] ^ 1 << place % 8);
      }
      changed = true;
    });
    const Joined joined = OneWithFilters(from_client, here, there,
                                         FilesOf(from_client ? here : there, {"builtin"}, &random))
                              .Join(operation, settings);
    ASSERT_TRUE(changed);
    if (joined.piped.status.ok()) {
      ExpectExactResult(operation, here, there, joined);
      withdrawn += joined.statistics.sst_filters_withdrawn_ranges > 0;
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(joined.piped.status) ||
                  absl::IsResourceExhausted(joined.piped.status))
          << joined.piped.status;
      refused++;
    }
  }
  EXPECT_GT(withdrawn, 20);
  EXPECT_LT(refused, 10);
}

TEST(ExistingFilters, AreForgottenWhenTheirSourceFails) {
  std::mt19937_64 random(31);
  const auto [here, there] = RandomSides(2000, 3000, 1000, 31);
  for (const bool from_client : {false, true}) {
    for (const size_t fails_after : {0, 2, 4}) {
      OneWithFilters sides(from_client, here, there,
                           FilesOf(from_client ? here : there, kAllKinds, &random));
      sides.client.fails_after = sides.server.fails_after = fails_after;
      const Joined joined = sides.Join(Operation::kIntersection);
      ExpectExactResult(Operation::kIntersection, here, there, joined);
      EXPECT_EQ(joined.statistics.sst_filters_pruned_keys, 0u);
    }
  }
}

// Ranges are opened while filters are still on their way, and never before theirs are there.
TEST(ExistingFilters, RangesFollowTheFilters) {
  std::mt19937_64 random(41);
  const auto [here, there] = RandomSides(6000, 6000, 2000, 41);
  for (const bool from_client : {false, true}) {
    const std::set<std::string> keys = KeysOf(from_client ? here : there);
    std::vector<ExistingFilter> filters;
    constexpr size_t kKeysPerFile = 600;
    std::vector<std::string> file;
    for (const std::string& key : keys) {
      file.push_back(key);
      if (file.size() < kKeysPerFile && key != *keys.rbegin()) continue;
      filters.push_back(FilterOf("rocksieve.bloom:10", file));
      // Takes its time on the way, and passes only the key that it is about.
      filters.push_back({file[0], file[0], FilterFormat::kOurs, std::string(1 << 20, 'x')});
      file.clear();
    }
    bool opened_early = false;
    bool filters_done = false;
    FilterSettings settings;
    settings.tamper = [&](uint64_t, bool, std::string* message) {
      const Message decoded = *Decode(*message);
      if (const auto* piece = std::get_if<Filters>(&decoded)) {
        filters_done = piece->state == Filters::State::kLast;
      }
      opened_early = opened_early || (std::holds_alternative<Open>(decoded) && !filters_done);
      return true;
    };
    const Joined joined =
        OneWithFilters(from_client, here, there, filters).Join(Operation::kSymmetric, settings);
    ExpectExactResult(Operation::kSymmetric, here, there, joined);
    EXPECT_TRUE(opened_early || !from_client);  // the pipe gives all of the other way at once
    EXPECT_GT(joined.statistics.sst_filters_pruned_keys, 3900u);
    EXPECT_EQ(joined.statistics.sst_filters_withdrawn_ranges, 0u);
    EXPECT_LT(joined.statistics.ranges, 40u);
  }
}

TEST(ExistingFilters, TakeLessThanKeysOfALargeSide) {
  std::mt19937_64 random(51);
  const auto [here, there] = RandomSides(1000, 60000, 500, 51);
  OneWithFilters sides(true, here, there, FilesOf(here, {"rocksieve.ribbon:10"}, &random));
  sides.client.pass_rate = 0.001;
  FilterSettings settings(Strategy::kAuto);
  settings.server.most_keys_per_range = 100000;
  const Joined joined = sides.Join(Operation::kCount, settings);
  ExpectExactResult(Operation::kCount, here, there, joined);
  EXPECT_EQ(joined.statistics.existing_choice, ExistingFilterChoice::kClient);
  EXPECT_GT(joined.statistics.sst_filters_pruned_keys, 59000u);
  EXPECT_LT(joined.piped.to_server + joined.piped.to_client, 4000u);
}

// More keys than either side may keep: those that filters deny are only counted.
TEST(ExistingFilters, OfASmallSideForMillionsOfKeys) {
  std::mt19937_64 random(53);
  Table here, there;
  for (uint64_t key = 10'000'000; there.size() < kMostKeysOfARange + 100'000; key++) {
    const std::string text = std::to_string(key);
    there.emplace_back(text, "");
    if (key % 3000 == 0) here.emplace_back(text, "");
  }
  OneWithFilters sides(true, here, there, FilesOf(here, {"rocksieve.ribbon:10"}, &random));
  FilterSettings settings;
  settings.server.most_keys_per_range = kMostKeysOfARange;
  const Joined joined = sides.Join(Operation::kCount, settings);
  EXPECT_EQ(joined.statistics.matched_keys, here.size());
  EXPECT_EQ(joined.statistics.ranges, 1u);
}

TEST(ExistingFilters, SayWhyTheyAreNotUsed) {
  std::mt19937_64 random(61);
  const auto [here, there] = RandomSides(2000, 2000, 1000, 61);
  const std::vector<ExistingFilter> filters = FilesOf(here, {"rocksieve.bloom:10"}, &random), none;
  const auto choice = [&mine = here, &theirs = there](const std::vector<ExistingFilter>& offered,
                                                      Strategy strategy, uint64_t most_bytes) {
    const Joined joined = OneWithFilters(true, mine, theirs, offered)
                              .Join(Operation::kCount, FilterSettings(strategy, most_bytes));
    ExpectExactResult(Operation::kCount, mine, theirs, joined);
    return joined.statistics.existing_choice;
  };
  EXPECT_EQ(choice(none, Strategy::kSstFilters, 1 << 20), ExistingFilterChoice::kNotThere);
  EXPECT_EQ(choice(filters, Strategy::kSstFilters, 100), ExistingFilterChoice::kNotThere);
  EXPECT_EQ(choice(filters, Strategy::kList, 1 << 20), ExistingFilterChoice::kNotWanted);
  EXPECT_EQ(choice(filters, Strategy::kSstFilters, 1 << 20), ExistingFilterChoice::kClient);
}

ExistingFilter Fences(std::string smallest, std::string largest) {
  return {std::move(smallest), std::move(largest), FilterFormat::kNone, ""};
}

TEST(ExistingFilterSet, KnowsHowFarItCovers) {
  ExistingFilterSet set;
  EXPECT_FALSE(set.Covers("a"));
  ASSERT_TRUE(set.Add(Fences("b", "z")));
  EXPECT_TRUE(set.Covers("a") && set.Covers("b"));  // up to but without
  EXPECT_FALSE(set.Covers("ba") || set.Covers(std::nullopt));
  const uint64_t first = set.DigestOf(1);
  ASSERT_TRUE(set.Add(Fences("c", "d")));
  EXPECT_TRUE(set.Covers("c"));
  EXPECT_TRUE(set.IsCoveredBy(1, first, "c") && set.IsCoveredBy(0, 0, "b"));
  EXPECT_FALSE(set.IsCoveredBy(1, first + 1, "c") || set.IsCoveredBy(1, first, "ca") ||
               set.IsCoveredBy(0, 0, "c") || set.IsCoveredBy(3, first, "a") ||
               set.IsCoveredBy(2, set.DigestOf(2), std::nullopt));
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
  const auto choice = [&](double client, double server, double rate, double bits_per_key = 10) {
    return ChooseExistingFilters(side(client, bits_per_key, rate), side(server, bits_per_key, rate),
                                 planner);
  };
  // Replicas: nothing beats reconciling.
  EXPECT_EQ(choice(1e6, 1e6, 0.001), ExistingFilterChoice::kTooDear);
  // A small side's good filters against a large side; it does not matter which one asks.
  EXPECT_EQ(choice(1e5, 2e7, 0.001, 10.2), ExistingFilterChoice::kClient);
  EXPECT_EQ(choice(2e7, 1e5, 0.001, 10.2), ExistingFilterChoice::kServer);
  // Filters that pass nearly everything are worth nothing.
  EXPECT_EQ(choice(1e5, 2e7, 0.9), ExistingFilterChoice::kTooDear);
  // Forced: those of the smaller side.
  planner.strategy = Strategy::kSstFilters;
  EXPECT_EQ(choice(1e6, 2e6, 0.01), ExistingFilterChoice::kClient);
  ExistingFilterSide cannot = side(2e6, 10, 0.01);
  cannot.readable_formats = 0;
  ExistingFilterSide other = side(1e6, 10, 0.01);
  other.offer.formats = 4;
  cannot.offer = {};
  EXPECT_EQ(ChooseExistingFilters(other, cannot, planner), ExistingFilterChoice::kUnusable);
}

}  // namespace
}  // namespace rocksieve::join
