// SPDX-License-Identifier: Apache-2.0
// Values of matched keys, compared in memory, beside a comparison one by one.
#include "lib/join/matching/value_comparison.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/join/memory_account.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kValuesSalt = 4711;

using RowNumbers = std::vector<uint32_t>;
using ValuesState = ValueComparison::State;
// May change the body of a part; `number` counts the parts of both sides from 0.
using TamperValues = std::function<void(uint64_t number, Part part, std::string* body)>;

// Rows, some of which have other values at the server. RowNumbers have gaps where keys are not
// matched, other ones on each side.
struct ValuesCase {
  size_t rows = 0;
  std::vector<bool> changed;
  uint64_t seed = 1;
  bool differ = false;
  int most_round_trips = 4;
  uint64_t memory_bytes = UINT64_MAX;
  TamperValues tamper;
};

struct ValuesOutcome {
  absl::Status status;
  ValuesState client = ValuesState::kTheirTurn;
  bool server_said_sum = false;
  // Numbers of rows, at either side.
  RowNumbers client_equal, client_changed, server_equal, server_changed;
  uint64_t bytes = 0, turns = 0, parts = 0;
};

ValuesOutcome CompareValues(const ValuesCase& values) {
  std::deque<MemoryAccount> memories;
  std::deque<ValueComparison> sides;  // which are not moved
  for (const int side : {0, 1}) {
    std::mt19937_64 random(values.seed);
    Candidates matched;
    std::vector<uint64_t> digests;
    for (size_t row = 0; row < values.rows; row++) {
      const uint64_t key = random(), value = random() % 3;
      if ((row + static_cast<size_t>(side)) % 10 == 0) digests.push_back(random.max());
      const auto ordinal = static_cast<uint32_t>(digests.size());
      const bool other = side == 1 && values.changed[row];
      matched.push_back({{Mix64(key), Mix64(key + 1)}, ordinal});
      digests.push_back(value + (other ? 1 : 0));
    }
    MatchingOptions options;
    options.salt = kValuesSalt + values.seed;
    options.is_client = side == 0;
    options.planner.most_round_trips = values.most_round_trips;
    memories.emplace_back(values.memory_bytes);
    options.memory = &memories.back();
    sides.emplace_back(std::move(matched), std::move(digests), options, values.differ);
  }
  ValuesOutcome outcome;
  constexpr int kMostTurns = 200;
  for (int turn = 0; turn < kMostTurns && outcome.status.ok(); turn++) {
    const size_t from = sides[0].state() == ValuesState::kMyTurn ? 0 : 1;
    if (sides[from].state() != ValuesState::kMyTurn) break;
    std::string step, sent;
    outcome.status = sides[from].NextStep(&step);
    if (!outcome.status.ok() || sides[from].state() != ValuesState::kTheirTurn) break;
    VisitParts(step, [&](Part part, std::string_view body) {
      std::string changed(body);
      if (values.tamper) values.tamper(outcome.parts, part, &changed);
      AppendPart(part, changed, &sent);
      outcome.parts++;
    });
    outcome.bytes += sent.size();
    outcome.turns++;
    EXPECT_EQ(sides[1 - from].state(), ValuesState::kTheirTurn);
    outcome.status = sides[1 - from].Receive(sent);
  }
  outcome.client = sides[0].state();
  outcome.server_said_sum = sides[1].said_sum();
  if (!outcome.status.ok() || outcome.client != ValuesState::kCompared) return outcome;
  // From ordinals back to numbers of rows.
  const auto numbers = [&](size_t side, const Candidates& rows) {
    RowNumbers all;
    uint32_t ordinal = 0;
    for (size_t row = 0; row < values.rows; row++) {
      if ((row + side) % 10 == 0) ordinal++;
      all.push_back(ordinal++);
    }
    RowNumbers found;
    for (const Candidate& row : rows) {
      const auto at = std::lower_bound(all.begin(), all.end(), row.ordinal);
      EXPECT_TRUE(at != all.end() && *at == row.ordinal);
      found.push_back(static_cast<uint32_t>(at - all.begin()));
    }
    return found;
  };
  outcome.client_changed = numbers(0, sides[0].TakeChanged());
  outcome.server_changed = numbers(1, sides[1].TakeChanged());
  outcome.client_equal = numbers(0, sides[0].TakeEqual());
  outcome.server_equal = numbers(1, sides[1].TakeEqual());
  return outcome;
}

void ExpectRight(const ValuesCase& values, const ValuesOutcome& outcome) {
  ASSERT_TRUE(outcome.status.ok()) << outcome.status;
  ASSERT_EQ(outcome.client, ValuesState::kCompared);
  EXPECT_TRUE(outcome.server_said_sum);
  RowNumbers equal, changed;
  for (size_t row = 0; row < values.rows; row++) {
    (values.changed[row] ? changed : equal).push_back(static_cast<uint32_t>(row));
  }
  EXPECT_EQ(outcome.client_changed, changed);
  EXPECT_EQ(outcome.server_changed, changed);
  EXPECT_EQ(outcome.client_equal, equal);
  EXPECT_EQ(outcome.server_equal, equal);
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
  for (const size_t rows : {0u, 1u, 2u, 3u, 10u, 256u, 257u, 1000u, 20000u}) {
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

// A change has one bit of many in common with what it replaces, and is found all the same.
TEST(ValueComparison, ManySeeds) {
  for (uint64_t seed = 0; seed < 300; seed++) {
    const ValuesCase values = RandomValues(300 + seed * 7, seed % 40, seed);
    SCOPED_TRACE(testing::Message() << seed);
    ExpectRight(values, CompareValues(values));
  }
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
    } else if (outcome.client == ValuesState::kCompared) {
      right++;
      ExpectRight(values, outcome);
    } else {
      contradicted++;
    }
  }
  EXPECT_GT(right, 0);
  EXPECT_GT(refused, 0);
}

TEST(ValueComparison, StaysWithinItsMemory) {
  ValuesCase values = RandomValues(10000, 1000, 9);
  values.memory_bytes = 10000 * 100;
  const ValuesOutcome outcome = CompareValues(values);
  if (outcome.status.ok()) ExpectRight(values, outcome);
  values.memory_bytes = 10000 * 30;
  EXPECT_TRUE(absl::IsResourceExhausted(CompareValues(values).status));
}

}  // namespace
}  // namespace rocksieve::join
