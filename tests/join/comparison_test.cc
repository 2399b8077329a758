// SPDX-License-Identifier: Apache-2.0
// Comparisons of whole rows as sessions: what differs, beside an obvious oracle, and what a broken
// or hostile side can do.
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "lib/hash/key_hash.h"
#include "lib/join/join_key/join_key_source.h"
#include "lib/join/memory_account.h"
#include "lib/join/session/messages.h"
#include "tests/join/support.h"

namespace rocksieve::join {
namespace {

using RowsByKey = std::map<std::string, std::string>;

struct ComparisonSettings {
  Comparison comparison = Comparison::kKeys;
  Strategy strategy = Strategy::kAuto;
  uint64_t keys_per_range = 1000, most_keys_per_range = 3000;
  int most_round_trips = 4;
  std::vector<KeyInterval> parts;
  KeyInterval interval = {};
  std::optional<KeyInterval>* uncommitted = nullptr;  // what is left, in the end
  uint64_t memory_bytes = UINT64_MAX;
  Tamper tamper;
};

std::string JoinKeyOf(const std::string& key, const std::string& value) {
  std::string join_key;
  WholeRowJoinKey({key, value}, &join_key);
  return join_key;
}

std::string WithoutDigest(const std::string& join_key) {
  return join_key.substr(0, join_key.size() - kWholeRowDigestBytes);
}

// Rows as the sink gets them, by key and not by digest, in any order of the two sides of a key.
Result ExpectedDifferences(const RowsByKey& here, const RowsByKey& there, Comparison comparison) {
  Result result;
  const auto add = [&result, comparison](const auto& row, Side side) {
    std::string join_key = JoinKeyOf(row.first, row.second), value = row.second;
    if (side == Side::kServer && comparison == Comparison::kKeys) {
      join_key = WithoutDigest(join_key) + std::string(kWholeRowDigestBytes, '\0');
      value.clear();
    }
    result.emplace_back(join_key, value, side);
  };
  for (const auto& row : here) {
    const auto other = there.find(row.first);
    if (other == there.end() || other->second != row.second) add(row, Side::kClient);
  }
  for (const auto& row : there) {
    const auto other = here.find(row.first);
    if (other == here.end() || other->second != row.second) add(row, Side::kServer);
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::unique_ptr<Source> WholeRowsOf(const RowsByKey& rows) {
  return std::make_unique<WholeRowSource>(
      std::make_unique<MemorySource>(MemorySource::Rows(rows.begin(), rows.end())),
      WholeRowSource::Values::kGiven);
}

Joined Compare(const RowsByKey& rows_here, const RowsByKey& rows_there,
               const ComparisonSettings& settings) {
  const std::unique_ptr<Source> here = WholeRowsOf(rows_here), there = WholeRowsOf(rows_there);
  Collector collector;
  MemoryAccount client_memory(settings.memory_bytes), server_memory(settings.memory_bytes);
  Joined joined;
  {
    ClientSessionOptions client_options;
    client_options.operation = Operation::kSymmetric;
    client_options.comparison = settings.comparison;
    client_options.keys_are_unique = true;
    client_options.salt = 12345;
    client_options.keys_per_range = settings.keys_per_range;
    client_options.planner.strategy = settings.strategy;
    client_options.planner.most_round_trips = settings.most_round_trips;
    client_options.parts = settings.parts;
    client_options.interval = settings.interval;
    client_options.memory = &client_memory;
    ServerSessionOptions server_options;
    server_options.most_keys_per_range = settings.most_keys_per_range;
    server_options.memory = &server_memory;
    ClientSession client(here.get(), &collector, client_options);
    ServerSession server(there.get(), server_options);
    joined.piped = RunPipe(&client, &server, settings.tamper);
    joined.result = collector.result();
    joined.statistics = client.statistics();
    if (settings.uncommitted != nullptr) *settings.uncommitted = client.Uncommitted();
    if (joined.piped.status.ok() && !settings.tamper) {
      EXPECT_TRUE(client.done() && server.done());
    }
  }
  EXPECT_EQ(client_memory.used_bytes(), 0u);
  EXPECT_EQ(server_memory.used_bytes(), 0u);
  return joined;
}

void ExpectExactDifferences(const RowsByKey& here, const RowsByKey& there,
                            const ComparisonSettings& settings = {}) {
  const Joined joined = Compare(here, there, settings);
  ASSERT_TRUE(joined.piped.status.ok()) << joined.piped.status;
  // In the order of their keys.
  for (size_t i = 1; i < joined.result.size(); i++) {
    EXPECT_LE(WithoutDigest(std::get<0>(joined.result[i - 1])),
              WithoutDigest(std::get<0>(joined.result[i])));
  }
  Result sorted = joined.result;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_TRUE(sorted == ExpectedDifferences(here, there, settings.comparison));
  uint64_t equal = 0;
  for (const auto& row : here) {
    const auto other = there.find(row.first);
    equal += other != there.end() && other->second == row.second;
  }
  EXPECT_EQ(joined.statistics.matched_keys, equal);
  EXPECT_EQ(joined.statistics.local_only_keys, here.size() - equal);
  EXPECT_EQ(joined.statistics.remote_only_keys, there.size() - equal);
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
          ComparisonSettings settings;
          settings.comparison = comparison;
          settings.keys_per_range = seed % 3 == 0 ? 100 : 100000;
          settings.most_keys_per_range = seed % 5 == 0 ? 70 : 100000;
          settings.most_round_trips = seed % 4 == 0 ? 1 : 4;
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
      ComparisonSettings settings;
      settings.comparison = comparison;
      settings.strategy = strategy;
      ExpectExactDifferences(sides.here, sides.there, settings);
    }
  }
}

// As rechecks have them: the rows of single keys.
TEST(Comparisons, OfParts) {
  const SidesOfRows sides = RandomRows(500, 100, 50, 50, 8);
  SidesOfRows within;
  ComparisonSettings settings;
  settings.comparison = Comparison::kRows;
  size_t number = 0;
  RowsByKey all = sides.here;
  all.insert(sides.there.begin(), sides.there.end());
  for (const auto& [key, value] : all) {
    if (++number % 3 != 0) continue;
    settings.parts.push_back(WholeRowsOfKey(key));
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
  ComparisonSettings settings;
  settings.keys_per_range = settings.most_keys_per_range = 100000;
  const Joined keys = Compare(sides.here, sides.there, settings);
  EXPECT_LE(keys.piped.to_client + keys.piped.to_server, 200 * 7u);
  settings.comparison = Comparison::kRows;
  const Joined rows = Compare(sides.here, sides.there, settings);
  EXPECT_LE(rows.piped.to_client + rows.piped.to_server, 200 * (7u + 30u));
  // Equal ones.
  const Joined none = Compare(sides.here, sides.here, settings);
  EXPECT_LE(none.piped.to_client + none.piped.to_server, 300u);
}

TEST(Comparisons, EndWithinTheirMemory) {
  const SidesOfRows sides = RandomRows(2000, 200, 50, 50, 10);
  for (uint64_t memory = 1 << 12; memory <= 1 << 20; memory *= 2) {
    ComparisonSettings settings;
    settings.memory_bytes = memory;
    const Joined joined = Compare(sides.here, sides.there, settings);
    EXPECT_TRUE(joined.piped.status.ok() || absl::IsResourceExhausted(joined.piped.status))
        << joined.piped.status;
    if (memory == 1 << 20) {
      EXPECT_TRUE(joined.piped.status.ok());
    }
  }
}

TEST(Comparisons, AnyFlippedBitIsFound) {
  const SidesOfRows sides = RandomRows(800, 60, 30, 30, 11);
  std::mt19937_64 random(12);
  ComparisonSettings settings;
  settings.comparison = Comparison::kRows;
  const Result expected = ExpectedDifferences(sides.here, sides.there, settings.comparison);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  for (uint64_t number = 0; number < messages; number++) {
    for (int i = 0; i < 20; i++) {
      const uint64_t where = random();
      settings.tamper = [number, where](uint64_t n, bool, std::string* message) {
        if (n == number) (*message)[where / 8 % message->size()] ^= 1 << where % 8;
        return true;
      };
      EXPECT_FALSE(Compare(sides.here, sides.there, settings).piped.status.ok());
    }
  }
}

// Bytes changed under a right check: an error, or a repeated range; which rows differ, and which do
// not, is right wherever both sides agree that they are done.
TEST(Comparisons, ChangedBytesUnderARightCheckAreHarmless) {
  constexpr size_t kCheckBytes = 4;
  const SidesOfRows sides = RandomRows(800, 60, 30, 30, 13);
  std::mt19937_64 random(14);
  ComparisonSettings settings;
  const Result expected = ExpectedDifferences(sides.here, sides.there, settings.comparison);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  uint64_t right = 0, repeated = 0;
  for (uint64_t number = 0; number < messages; number++) {
    for (int i = 0; i < 60; i++) {
      bool is_step = false;
      settings.tamper = [&](uint64_t n, bool, std::string* message) {
        if (n != number) return true;
        const absl::StatusOr<Message> decoded = Decode(*message);
        is_step = decoded.ok() && std::holds_alternative<Step>(*decoded);
        message->resize(message->size() - kCheckBytes);
        (*message)[random() % message->size()] ^= static_cast<char>(1 << random() % 8);
        ByteWriter(message).U32(static_cast<uint32_t>(HashKey(*message, 0)));
        return true;
      };
      const Joined joined = Compare(sides.here, sides.there, settings);
      if (!joined.piped.status.ok() || !is_step) continue;
      Result result = joined.result;
      std::sort(result.begin(), result.end());
      EXPECT_TRUE(result == expected);
      right++;
      repeated += joined.statistics.repeated_ranges;
    }
  }
  EXPECT_GT(right, 0u);
  EXPECT_GT(repeated, 0u);
}

TEST(Comparisons, AnyMessageMayBeTheLast) {
  const SidesOfRows sides = RandomRows(2500, 200, 100, 100, 15);
  ComparisonSettings settings;
  settings.comparison = Comparison::kRows;
  const Result expected = ExpectedDifferences(sides.here, sides.there, settings.comparison);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  for (uint64_t number = 0; number < messages; number++) {
    settings.tamper = [number](uint64_t n, bool, std::string*) { return n != number; };
    Result result = Compare(sides.here, sides.there, settings).result;
    std::sort(result.begin(), result.end());
    ASSERT_TRUE(std::includes(expected.begin(), expected.end(), result.begin(), result.end()));
  }
}

// As after a stream that broke: another session goes on where the last finished range ended, and no
// row is lost or comes twice, though its two versions lie on either side of any bound.
TEST(Comparisons, GoOnInAnotherSession) {
  const SidesOfRows sides = RandomRows(1500, 200, 100, 100, 17);
  ComparisonSettings settings;
  settings.comparison = Comparison::kRows;
  settings.keys_per_range = 100;
  const Result expected = ExpectedDifferences(sides.here, sides.there, settings.comparison);
  const uint64_t messages = Compare(sides.here, sides.there, settings).piped.messages;
  for (uint64_t number = 0; number < messages; number += 3) {
    std::optional<KeyInterval> left;
    ComparisonSettings first = settings, second = settings;
    first.uncommitted = &left;
    first.tamper = [number](uint64_t n, bool, std::string*) { return n != number; };
    Result result = Compare(sides.here, sides.there, first).result;
    if (left) {
      second.interval = *left;
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
  ServerSessionOptions options;
  MemorySource rows(Table{{"a", "1"}, {"b", "2"}});
  Hello hello;
  hello.operation = Operation::kDifference;
  hello.comparison = Comparison::kKeys;
  ServerSession wrong_operation(&rows, options);
  EXPECT_TRUE(absl::IsInvalidArgument(wrong_operation.Receive(Encode(hello))));

  hello.operation = Operation::kSymmetric;
  Open open;
  open.row_sum = SetSum();
  ServerSession other_rows(&rows, options);
  EXPECT_TRUE(other_rows.Receive(Encode(hello)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(other_rows.Receive(Encode(open))));
  open.row_sum.reset();
  ServerSession keys_only(&rows, options);
  EXPECT_TRUE(keys_only.Receive(Encode(hello)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(keys_only.Receive(Encode(open))));
}

// Rows of a range may be asked for once the server has said a sum of rows, and not before.
TEST(Comparisons, RowsAreFetchedAfterASum) {
  const SidesOfRows sides = RandomRows(3000, 900, 0, 0, 16);
  for (const bool early : {true, false}) {
    ComparisonSettings settings;
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

}  // namespace
}  // namespace rocksieve::join
