// SPDX-License-Identifier: Apache-2.0
// Comparisons of whole rows: as sessions, and of the values of matched keys alone; what differs,
// beside an obvious oracle, and what a broken or hostile side can do.
#include <map>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/value_comparison.h"
#include "lib/join/memory_account.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using RowsByKey = std::map<std::string, std::string>;

std::string WithoutDigest(const std::string& join_key) {
  return join_key.substr(0, join_key.size() - kWholeRowDigestBytes);
}

// Rows as the sink gets them, by key and not by digest, in any order of the two sides of a key.
Result ExpectedDifferences(const RowsByKey& here, const RowsByKey& there, Comparison comparison) {
  Result result;
  for (const Side side : {Side::kClient, Side::kServer}) {
    const RowsByKey& other = side == Side::kClient ? there : here;
    for (const auto& [key, value] : side == Side::kClient ? here : there) {
      const auto same = other.find(key);
      if (same != other.end() && same->second == value) continue;
      std::string join_key;
      WholeRowJoinKey({key, value}, &join_key);
      const bool keys_only = side == Side::kServer && comparison == Comparison::kKeys;
      if (keys_only) join_key = WithoutDigest(join_key) + std::string(kWholeRowDigestBytes, '\0');
      result.emplace_back(join_key, keys_only ? "" : value, side);
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

WholeRowSource WholeRowsOf(const RowsByKey& rows) {
  return WholeRowSource(std::make_unique<MemorySource>(Table(rows.begin(), rows.end())),
                        WholeRowSource::Values::kGiven);
}

Settings Comparing(Comparison comparison, Strategy strategy = Strategy::kAuto) {
  Settings settings(strategy);
  settings.client.comparison = comparison;
  settings.client.keys_are_unique = true;
  return settings;
}

Joined Compare(const RowsByKey& rows_here, const RowsByKey& rows_there, Settings settings,
               uint64_t memory_bytes = UINT64_MAX) {
  WholeRowSource here = WholeRowsOf(rows_here), there = WholeRowsOf(rows_there);
  MemoryAccount client_memory(memory_bytes), server_memory(memory_bytes);
  settings.client.memory = &client_memory;
  settings.server.memory = &server_memory;
  Joined joined = JoinSources(Operation::kSymmetric, &here, &there, settings);
  EXPECT_EQ(client_memory.used_bytes() + server_memory.used_bytes(), 0u);
  return joined;
}

void ExpectExactDifferences(const RowsByKey& here, const RowsByKey& there,
                            const Settings& settings) {
  const Joined joined = Compare(here, there, settings);
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  // In the order of their keys.
  for (size_t i = 1; i < joined.result.size(); i++) {
    EXPECT_LE(WithoutDigest(std::get<0>(joined.result[i - 1])),
              WithoutDigest(std::get<0>(joined.result[i])));
  }
  EXPECT_TRUE(joined.sorted == ExpectedDifferences(here, there, settings.client.comparison));
  const std::set<RowsByKey::value_type> mine(here.begin(), here.end());
  const std::set<RowsByKey::value_type> theirs(there.begin(), there.end());
  ExpectCounts(joined.statistics, mine, theirs);
}

struct SidesOfRows {
  RowsByKey here, there;
};

// Values repeat, and may be empty; keys may have zero bytes.
SidesOfRows RandomRows(size_t equal, size_t changed, size_t only_here, size_t only_there,
                       uint64_t seed) {
  std::mt19937_64 random(seed);
  SidesOfRows sides;
  const auto key = [&random] {
    std::string bytes(3 + random() % 10, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 7 == 0 ? 0 : random());
    return bytes;
  };
  const auto value = [&random] { return std::string(random() % 3, 'v'); };
  while (sides.here.size() < equal) {
    const std::string shared = key();
    sides.here[shared] = sides.there[shared] = value();
  }
  while (sides.here.size() < equal + changed) {
    const std::string shared = key();
    if (sides.here.count(shared) != 0) continue;
    sides.here[shared] = value();
    sides.there[shared] = sides.here[shared] + "other";
  }
  for (size_t i = 0; i < only_here; i++) {
    const std::string mine = key();
    if (sides.there.count(mine) == 0) sides.here[mine] = value();
  }
  for (size_t i = 0; i < only_there; i++) {
    const std::string theirs = key();
    if (sides.here.count(theirs) == 0) sides.there[theirs] = value();
  }
  return sides;
}

constexpr Comparison kComparisons[] = {Comparison::kKeys, Comparison::kRows};

TEST(Comparisons, AreExactAtEverySize) {
  uint64_t seed = 0;
  for (const size_t equal : {0u, 1u, 5u, 300u, 3000u}) {
    for (const size_t changed : {0u, 1u, 2u, 40u, 1500u}) {
      for (const auto& [only_here, only_there] :
           {std::pair{0u, 0u}, {1u, 0u}, {0u, 1u}, {30u, 40u}, {700u, 0u}, {0u, 700u}}) {
        for (const Comparison comparison : kComparisons) {
          const SidesOfRows sides = RandomRows(equal, changed, only_here, only_there, ++seed);
          Settings settings = Comparing(comparison);
          settings.client.keys_per_range = seed % 3 == 0 ? 100 : 100000;
          settings.server.most_keys_per_range = seed % 5 == 0 ? 70 : 100000;
          settings.client.planner.most_round_trips = seed % 4 == 0 ? 1 : 4;
          SCOPED_TRACE(testing::Message() << equal << " equal, " << changed << " changed, "
                                          << only_here << " here, " << only_there << " there");
          ExpectExactDifferences(sides.here, sides.there, settings);
        }
      }
    }
  }
}

TEST(Comparisons, AreExactWithEveryStrategy) {
  for (const Strategy strategy : kAllStrategies) {
    for (const Comparison comparison : kComparisons) {
      const SidesOfRows sides = RandomRows(2000, 300, 100, 150, 7);
      ExpectExactDifferences(sides.here, sides.there, Comparing(comparison, strategy));
    }
  }
}

// As rechecks have them: the rows of single keys.
TEST(Comparisons, OfParts) {
  const SidesOfRows sides = RandomRows(500, 100, 50, 50, 8);
  SidesOfRows within;
  Settings settings = Comparing(Comparison::kRows);
  size_t number = 0;
  RowsByKey all = sides.here;
  all.insert(sides.there.begin(), sides.there.end());
  for (const auto& [key, value] : all) {
    if (++number % 3 != 0) continue;
    settings.client.parts.push_back(WholeRowsOfKey(key));
    for (auto [from, to] : {std::pair{&sides.here, &within.here}, {&sides.there, &within.there}}) {
      const auto found = from->find(key);
      if (found != from->end()) to->insert(*found);
    }
  }
  ExpectExactDifferences(within.here, within.there, settings);
}

// With values that are as large as the rest, none of those that are equal or not wanted travel.
TEST(Comparisons, WhatTravels) {
  SidesOfRows sides = RandomRows(20000, 0, 0, 0, 9);
  size_t number = 0;
  for (auto& [key, value] : sides.there) {
    if (number++ % 100 == 0) value = std::string(1000, 'w');
  }
  const auto bytes = [&sides](const RowsByKey& there, Comparison comparison) {
    Settings settings = Comparing(comparison);
    settings.client.keys_per_range = settings.server.most_keys_per_range = 100000;
    const Piped piped = Compare(sides.here, there, settings).piped;
    return piped.to_client + piped.to_server;
  };
  EXPECT_LE(bytes(sides.there, Comparison::kKeys), 200 * 7u);
  EXPECT_LE(bytes(sides.there, Comparison::kRows), 200 * (7u + 30u));
  EXPECT_LE(bytes(sides.here, Comparison::kRows), 300u);
}

TEST(Comparisons, EndWithinTheirMemory) {
  const SidesOfRows sides = RandomRows(2000, 200, 50, 50, 10);
  for (uint64_t memory = 1 << 12; memory <= 1 << 20; memory *= 2) {
    const absl::Status status =
        Compare(sides.here, sides.there, Comparing(Comparison::kKeys), memory).piped.status;
    EXPECT_TRUE(status.ok() || (absl::IsResourceExhausted(status) && memory < 1 << 20)) << status;
  }
}

TEST(Comparisons, AnyFlippedBitIsFound) {
  const SidesOfRows sides = RandomRows(800, 60, 30, 30, 11);
  std::mt19937_64 random(12);
  Settings settings = Comparing(Comparison::kRows);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  for (uint64_t i = 0; i < 20 * messages; i++) {
    settings.tamper = FlipBit(i / 20, random());
    EXPECT_FALSE(Compare(sides.here, sides.there, settings).piped.status.ok());
  }
}

// As after a stream that broke at any message: another session goes on where the last finished
// range ended, and no row is lost or comes twice, though its two versions lie on either side of any
// bound.
TEST(Comparisons, GoOnInAnotherSession) {
  const SidesOfRows sides = RandomRows(1500, 200, 100, 100, 17);
  Settings settings = Comparing(Comparison::kRows);
  settings.client.keys_per_range = 100;
  const Result expected = ExpectedDifferences(sides.here, sides.there, Comparison::kRows);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  for (uint64_t number = 0; number < messages; number += 3) {
    Settings first = settings, second = settings;
    first.tamper = StopAt(number);
    const Joined begun = Compare(sides.here, sides.there, first);
    Result result = begun.result;
    if (begun.uncommitted) {
      second.client.interval = *begun.uncommitted;
      const Joined rest = Compare(sides.here, sides.there, second);
      ASSERT_TRUE(rest.piped.status.ok()) << rest.piped.status;
      result.insert(result.end(), rest.result.begin(), rest.result.end());
    }
    std::sort(result.begin(), result.end());
    ASSERT_TRUE(result == expected) << number;
  }
}

// Both sides must want the same.
TEST(Comparisons, OfWholeRowsOnly) {
  MemorySource rows(Table{{"a", "1"}, {"b", "2"}});
  for (const bool other_rows : {true, false}) {
    Hello hello;
    hello.comparison = Comparison::kKeys;
    hello.operation = Operation::kDifference;
    EXPECT_TRUE(absl::IsInvalidArgument(ServerSession(&rows, {}).Receive(Encode(hello))));
    hello.operation = Operation::kSymmetric;
    Open open;
    if (other_rows) open.row_sum = SetSum();
    ServerSession server(&rows, {});
    EXPECT_TRUE(server.Receive(Encode(hello)).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(server.Receive(Encode(open))));
  }
}

// Rows of a range may be asked for once the server has said a sum of rows, and not before.
TEST(Comparisons, RowsAreFetchedAfterASum) {
  const SidesOfRows sides = RandomRows(3000, 900, 0, 0, 16);
  for (const bool early : {true, false}) {
    Settings settings = Comparing(Comparison::kKeys);
    uint64_t fetches = 0;
    settings.tamper = [&](uint64_t, bool to_client, std::string* message) {
      const absl::StatusOr<Message> decoded = Decode(*message);
      const Step* const step = to_client ? nullptr : std::get_if<Step>(&*decoded);
      if (early && step != nullptr && fetches++ == 0) *message = Encode(Fetch{step->range, 0});
      return true;
    };
    const absl::Status status = Compare(sides.here, sides.there, settings).piped.status;
    EXPECT_EQ(absl::IsInvalidArgument(status), early) << status;
  }
}

// Values of matched keys, compared in memory, beside a comparison one by one.

constexpr uint64_t kValuesSalt = 4711;

using RowOrdinals = std::vector<uint32_t>;
using ValuesState = ValueComparison::State;

// Rows, some of which have other values at the server.
struct ValuesCase {
  size_t rows = 0;
  std::vector<bool> changed;
  uint64_t seed = 1;
  bool differ = false;
  int most_round_trips = 4;
  TamperPart tamper;
};

struct ValuesOutcome : ExchangeOutcome {
  ValuesState client = ValuesState::kTheirTurn;
  bool server_said_sum = false;
  // Of the client and the server. They have gaps where keys are not matched, other ones on each
  // side.
  RowOrdinals equal[2], changed[2], all[2];
};

ValuesOutcome CompareValues(const ValuesCase& values) {
  ValuesOutcome outcome;
  std::deque<ValueComparison> sides;  // which are not moved
  for (const size_t side : {0, 1}) {
    std::mt19937_64 random(values.seed);
    Candidates matched;
    std::vector<uint64_t> digests;
    for (size_t row = 0; row < values.rows; row++) {
      const uint64_t key = random(), value = random() % 3;
      if ((row + side) % 10 == 0) digests.push_back(random.max());
      outcome.all[side].push_back(static_cast<uint32_t>(digests.size()));
      matched.push_back({{Mix64(key), Mix64(key + 1)}, outcome.all[side].back()});
      digests.push_back(value + (side == 1 && values.changed[row] ? 1 : 0));
    }
    MatchingOptions options;
    options.salt = kValuesSalt + values.seed;
    options.is_client = side == 0;
    options.planner.most_round_trips = values.most_round_trips;
    sides.emplace_back(std::move(matched), std::move(digests), options, values.differ);
  }
  Exchange(&sides, values.tamper, &outcome);
  outcome.client = sides[0].state();
  outcome.server_said_sum = sides[1].said_sum();
  if (!outcome.status.ok() || outcome.client != ValuesState::kReconciled) return outcome;
  for (const size_t side : {0, 1}) {
    for (const Candidate& row : sides[side].TakeChanged()) {
      outcome.changed[side].push_back(row.ordinal);
    }
    for (const Candidate& row : sides[side].TakeEqual()) outcome.equal[side].push_back(row.ordinal);
  }
  return outcome;
}

void ExpectRight(const ValuesCase& values, const ValuesOutcome& outcome) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(outcome.client, ValuesState::kReconciled);
  EXPECT_TRUE(outcome.server_said_sum);
  for (const size_t side : {0, 1}) {
    RowOrdinals equal, changed;
    for (size_t row = 0; row < values.rows; row++) {
      (values.changed[row] ? changed : equal).push_back(outcome.all[side][row]);
    }
    EXPECT_EQ(outcome.changed[side], changed);
    EXPECT_EQ(outcome.equal[side], equal);
  }
}

ValuesCase RandomValues(size_t rows, size_t changed, uint64_t seed) {
  ValuesCase values;
  values.rows = rows;
  values.seed = seed;
  values.changed.resize(rows);
  for (size_t i = 0; i < changed; i++) values.changed[i] = true;
  std::mt19937_64 random(seed);
  std::shuffle(values.changed.begin(), values.changed.end(), random);
  return values;
}

TEST(ValueComparison, EverySizeAndNumberOfChangedRows) {
  uint64_t seed = 0;
  for (const size_t rows : {0u, 1u, 2u, 3u, 10u, 256u, 257u, 300u, 1000u, 2400u, 20000u}) {
    for (const size_t changed : {size_t{0}, size_t{1}, size_t{2}, rows / 1000, rows / 100,
                                 rows / 10, rows / 3, rows / 2, rows - rows / 10, rows}) {
      for (const bool differ : {false, true}) {
        if (changed > rows) continue;
        ValuesCase values = RandomValues(rows, changed, ++seed);
        values.differ = differ;
        values.most_round_trips = seed % 2 == 0 ? 4 : 1;
        SCOPED_TRACE(testing::Message() << rows << " rows, " << changed << " changed, " << seed);
        ExpectRight(values, CompareValues(values));
      }
    }
  }
}

TEST(ValueComparison, ChangedRowsSideBySideAndAtEqualDistances) {
  ValuesCase together = RandomValues(50000, 0, 1), regular = RandomValues(50000, 0, 2);
  for (size_t row = 0; row < 500; row++) {
    together.changed[row + 777] = true;
    regular.changed[row * 100] = true;
  }
  ExpectRight(together, CompareValues(together));
  ExpectRight(regular, CompareValues(regular));
}

// Of a million rows, bytes for each that is changed.
TEST(ValueComparison, BytesOfAChangedRow) {
  const struct {
    size_t changed;
    double most_bytes;
  } kCases[] = {{100, 15}, {1000, 5.5}, {10000, 3.3}, {100000, 2.2}};
  for (const auto& [changed, most_bytes] : kCases) {
    ValuesCase values = RandomValues(1000000, changed, changed);
    values.differ = true;
    const ValuesOutcome outcome = CompareValues(values);
    ExpectRight(values, outcome);
    const double bytes = static_cast<double>(outcome.bytes) / static_cast<double>(changed);
    EXPECT_LE(bytes, most_bytes) << changed;
    EXPECT_LE(outcome.turns, 25u);
  }
}

// Whatever becomes of the bytes on their way, no row is said to be equal that is not, and the other
// way round.
TEST(ValueComparison, DamageIsSeen) {
  std::mt19937_64 random(5);
  int right = 0, contradicted = 0, refused = 0;
  for (int round = 0; round < 2000; round++) {
    ValuesCase values = RandomValues(1000, random() % 100, random());
    values.differ = random() % 2 == 0;
    const uint64_t number = random() % 12, bit = random();
    values.tamper = [&](uint64_t part, Part, std::string* body) {
      if (part != number || body->empty()) return;
      (*body)[bit / 8 % body->size()] ^= static_cast<char>(1 << bit % 8);
    };
    const ValuesOutcome outcome = CompareValues(values);
    if (!outcome.status.ok()) {
      refused++;
      EXPECT_TRUE(absl::IsInvalidArgument(outcome.status)) << outcome.status;
    } else if (outcome.client == ValuesState::kReconciled) {
      right++;
      ExpectRight(values, outcome);
    } else {
      contradicted++;
    }
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace rocksieve::join
