// SPDX-License-Identifier: Apache-2.0
// Joins that begin with filters which one side has already.
#include "lib/join/existing/existing_filters.h"
#include "lib/join/session/messages.h"
#include "tests/join/existing_filters_support.h"

namespace rocksieve::join {
namespace {

const std::vector<std::string> kAllKinds = {"rocksieve.bloom:10", "rocksieve.ribbon:10",
                                            "rocksieve.cuckoo:12", "builtin"};

void ExpectExactResult(Operation operation, const Table& here, const Table& there,
                       const Joined& joined) {
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  EXPECT_TRUE(joined.result == Expected(operation, here, there)) << NameOf(operation);
  const std::set<std::string> mine = KeysOf(here), theirs = KeysOf(there);
  uint64_t matched = 0;
  for (const std::string& key : mine) matched += theirs.count(key);
  EXPECT_EQ(joined.statistics.matched_keys, matched);
  EXPECT_EQ(joined.statistics.local_only_keys, mine.size() - matched);
  EXPECT_EQ(joined.statistics.remote_only_keys, theirs.size() - matched);
}

TEST(ExistingFilters, OfEitherSideGiveTheSameAnswer) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const size_t client_keys = 1 + random() % 4000, server_keys = 1 + random() % 8000;
    const auto [here, there] =
        RandomSides(client_keys, server_keys, random() % std::min(client_keys, server_keys), seed);
    for (const Operation operation : kAllOperations) {
      for (const bool from_client : {false, true}) {
        const std::vector<ExistingFilter> none;
        const Table& owner = from_client ? here : there;
        const std::vector<ExistingFilter> filters = FilesOf(owner, kAllKinds, &random);
        ExistingFilterSource client(here, from_client ? filters : none);
        ExistingFilterSource server(there, from_client ? none : filters);
        const Joined joined = JoinWithExistingFilters(operation, &client, &server);
        ExpectExactResult(operation, here, there, joined);
        EXPECT_EQ(joined.statistics.existing_choice,
                  from_client ? ExistingFilterChoice::kClient : ExistingFilterChoice::kServer);
        EXPECT_EQ(joined.statistics.sst_filters, filters.size());
        EXPECT_EQ(joined.statistics.sst_filters_withdrawn_ranges, 0u);
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
    ExistingFilterSource client(here, {}), server(there, FilesOf(there, kinds, &random));
    const Joined joined = JoinWithExistingFilters(Operation::kSymmetric, &client, &server);
    ExpectExactResult(Operation::kSymmetric, here, there, joined);
    EXPECT_LT(joined.statistics.sst_filters_pruned_keys, 10u);  // outside of all fences
    EXPECT_EQ(joined.statistics.sst_filters_withdrawn_ranges, 0u);
  }
}

TEST(ExistingFilters, EmptySides) {
  std::mt19937_64 random(8);
  const auto [here, there] = RandomSides(100, 100, 50, 8);
  const std::vector<ExistingFilter> filters = FilesOf(here, kAllKinds, &random);
  for (const Operation operation : kAllOperations) {
    ExistingFilterSource some(here, filters), gone({}, filters), empty({}, {});
    ExpectExactResult(operation, here, {}, JoinWithExistingFilters(operation, &some, &empty));
    ExpectExactResult(operation, {}, here, JoinWithExistingFilters(operation, &empty, &some));
    ExpectExactResult(operation, {}, here, JoinWithExistingFilters(operation, &gone, &some));
    ExpectExactResult(operation, here, {}, JoinWithExistingFilters(operation, &some, &gone));
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
        const std::vector<ExistingFilter> filters = FilesOf(known, {kind}, &random), none;
        for (const Operation operation : kAllOperations) {
          ExistingFilterSource client(here, from_client ? filters : none);
          ExistingFilterSource server(there, from_client ? none : filters);
          const Joined joined = JoinWithExistingFilters(operation, &client, &server);
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
  const std::vector<ExistingFilter> none;
  int withdrawn = 0, refused = 0;
  for (int round = 0; round < 60; round++) {
    const bool from_client = round % 2 == 0;
    const std::vector<ExistingFilter> filters =
        FilesOf(from_client ? here : there, {"builtin"}, &random);
    ExistingFilterSource client(here, from_client ? filters : none);
    ExistingFilterSource server(there, from_client ? none : filters);
    const Operation operation = kAllOperations[random() % 5];
    const uint64_t place = random(), clear = random() % 2;
    bool changed = false;
    Settings settings;
    settings.tamper = [&](uint64_t, bool, std::string* message) {
      Message decoded = *Decode(*message);
      Filters* const piece = std::get_if<Filters>(&decoded);
      if (piece == nullptr || changed || piece->piece.empty()) return true;
      const size_t at = place % piece->piece.size();
      if (clear == 1) {
        for (size_t i = at; i < std::min(at + 100, piece->piece.size()); i++) piece->piece[i] = 0;
      } else {
        piece->piece[at] = static_cast<char>(piece->piece[at] ^ 1 << place % 8);
      }
      *message = Encode(decoded);
      changed = true;
      return true;
    };
    const Joined joined = JoinWithExistingFilters(operation, &client, &server, settings);
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
      const std::vector<ExistingFilter> filters =
          FilesOf(from_client ? here : there, kAllKinds, &random);
      ExistingFilterSource client(here, from_client ? filters : std::vector<ExistingFilter>());
      ExistingFilterSource server(there, from_client ? std::vector<ExistingFilter>() : filters);
      client.fails_after = server.fails_after = fails_after;
      const Joined joined = JoinWithExistingFilters(Operation::kIntersection, &client, &server);
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
    const Table& owner = from_client ? here : there;
    std::vector<std::string> keys;
    for (const std::string& key : KeysOf(owner)) keys.push_back(key);
    std::vector<ExistingFilter> filters;
    constexpr size_t kKeysPerFile = 600;
    for (size_t i = 0; i < keys.size(); i += kKeysPerFile) {
      filters.push_back(FilterOf(
          "rocksieve.bloom:10",
          {keys.begin() + static_cast<std::ptrdiff_t>(i),
           keys.begin() + static_cast<std::ptrdiff_t>(std::min(i + kKeysPerFile, keys.size()))}));
      // Takes its time on the way, and passes only the key that it is about.
      ExistingFilter slow;
      slow.smallest = slow.largest = filters.back().smallest;
      slow.format = FilterFormat::kOurs;
      slow.block.assign(1 << 20, 'x');
      filters.push_back(std::move(slow));
    }
    ExistingFilterSource client(here, from_client ? filters : std::vector<ExistingFilter>());
    ExistingFilterSource server(there, from_client ? std::vector<ExistingFilter>() : filters);
    bool opened_early = false;
    bool filters_done = false;
    Settings settings;
    settings.tamper = [&](uint64_t, bool, std::string* message) {
      const Message decoded = *Decode(*message);
      if (const auto* piece = std::get_if<Filters>(&decoded)) {
        filters_done = piece->state == Filters::State::kLast;
      }
      opened_early = opened_early || (std::holds_alternative<Open>(decoded) && !filters_done);
      return true;
    };
    const Joined joined =
        JoinWithExistingFilters(Operation::kSymmetric, &client, &server, settings);
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
  ExistingFilterSource client(here, FilesOf(here, {"rocksieve.ribbon:10"}, &random)),
      server(there, {});
  client.pass_rate = 0.001;
  Settings settings;
  settings.most_keys_per_range = 100000;
  const Joined joined =
      JoinWithExistingFilters(Operation::kCount, &client, &server, settings, Strategy::kAuto);
  ExpectExactResult(Operation::kCount, here, there, joined);
  EXPECT_EQ(joined.statistics.existing_choice, ExistingFilterChoice::kClient);
  EXPECT_GT(joined.statistics.sst_filters_pruned_keys, 59000u);
  EXPECT_LT(joined.piped.to_server + joined.piped.to_client, 4000u);
}

TEST(ExistingFilters, SayWhyTheyAreNotUsed) {
  std::mt19937_64 random(61);
  const auto [here, there] = RandomSides(2000, 2000, 1000, 61);
  const std::vector<ExistingFilter> filters = FilesOf(here, {"rocksieve.bloom:10"}, &random), none;
  const auto choice = [&mine = here, &theirs = there](const std::vector<ExistingFilter>& offered,
                                                      Strategy strategy, uint64_t most_bytes) {
    ExistingFilterSource client(mine, offered), server(theirs, {});
    const Joined joined =
        JoinWithExistingFilters(Operation::kCount, &client, &server, {}, strategy, most_bytes);
    ExpectExactResult(Operation::kCount, mine, theirs, joined);
    return joined.statistics.existing_choice;
  };
  EXPECT_EQ(choice(none, Strategy::kSstFilters, 1 << 20), ExistingFilterChoice::kNotThere);
  EXPECT_EQ(choice(filters, Strategy::kSstFilters, 100), ExistingFilterChoice::kNotThere);
  EXPECT_EQ(choice(filters, Strategy::kList, 1 << 20), ExistingFilterChoice::kNotWanted);
  EXPECT_EQ(choice(filters, Strategy::kSstFilters, 1 << 20), ExistingFilterChoice::kClient);
}

}  // namespace

// What existing SST filters are made of: the stream, the set, and the choice; hostile bytes too.

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
