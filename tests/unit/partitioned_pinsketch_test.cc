// SPDX-License-Identifier: Apache-2.0
// Whole sketches: right and wrong estimates of the differences, and hostile peers.
#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "lib/sketch/pinsketch/partitioned_pinsketch.h"
#include "lib/sketch/pinsketch/positions.h"
#include "support/text.h"
#include "tests/support.h"

namespace rocksieve::pinsketch {

// Flags at positions: which of them differ, beside a comparison one by one.

namespace {

using Flags = std::vector<uint8_t>;

constexpr uint64_t kSalt = 4711;

PositionPlan PlanOf(int field_bits, uint32_t groups) {
  PositionPlan plan;
  plan.field_bits = field_bits;
  plan.groups = groups;
  plan.raw_levels = 8;
  return plan;
}

TEST(PinSketchPositions, EveryPositionHasACellOfItsOwn) {
  for (const uint32_t groups : {1u, 2u, 7u, 64u, 1000u}) {
    for (const uint64_t count : {uint64_t{1}, uint64_t{groups}, uint64_t{63} * groups}) {
      const PositionPlan plan = PlanOf(6, groups);
      ASSERT_TRUE(plan.Fits(count));
      const Positions positions(plan, count, kSalt);
      std::set<std::pair<uint32_t, uint32_t>> cells;
      const std::vector<uint64_t> hashes = positions.HashesOf(std::vector<uint8_t>(count, 1));
      ASSERT_EQ(hashes.size(), count);
      for (uint64_t position = 0; position < count; position++) {
        const Cell cell = CellOf(hashes[position], groups, 6);
        ASSERT_EQ(hashes[position], HashOf(cell, groups, 6));
        ASSERT_LT(cell.group, groups);
        ASSERT_TRUE(cell.id >= 1 && cell.id < 64);
        ASSERT_EQ(positions.At(cell), position);
        ASSERT_TRUE(cells.emplace(cell.group, cell.id).second);
      }
      for (uint32_t group = 0; group < groups; group++) {
        for (uint32_t id = 1; id < 64; id++) {
          ASSERT_EQ(positions.At({group, id}).has_value(), cells.count({group, id}) == 1);
        }
      }
    }
  }
  EXPECT_FALSE(PlanOf(6, 10).Fits(631));
  EXPECT_FALSE(PlanOf(20, UINT32_MAX).Fits(uint64_t{1} << 31));
}

bool AllKnown(const PartitionedDecoder& decoder) {
  return std::ranges::count(decoder.known_blocks(), 0) == 0;
}

struct Outcome {
  uint64_t bytes = 0;
  int requests = 0;
  bool all_known = false;
};

// A sketch, and requests and answers as long as something is missing.
Outcome Reconcile(const Plan& plan, PartitionedEncoder* encoder, PartitionedDecoder* decoder) {
  Outcome outcome;
  std::string message;
  ByteWriter out(&message);
  encoder->WriteSketch(&out);
  outcome.bytes = message.size();
  const ExactCopy copy(message);
  ByteReader in(copy.view());
  EXPECT_EQ(in.remaining(), plan.SketchBytes());
  EXPECT_TRUE(decoder->ReadSketch(&in) && in.Finished());
  while (decoder->WantsMore()) {
    std::string request, answer;
    ByteWriter request_out(&request), answer_out(&answer);
    decoder->WriteRequest(&request_out);
    ByteReader request_in(request);
    EXPECT_TRUE(encoder->AnswerRequest(&request_in, uint64_t{1} << 30, &answer_out));
    EXPECT_TRUE(request_in.Finished());
    ByteReader answer_in(answer);
    EXPECT_TRUE(decoder->ReadMore(&answer_in) && answer_in.Finished());
    outcome.bytes += request.size() + answer.size();
    outcome.requests++;
  }
  outcome.all_known = AllKnown(*decoder);
  return outcome;
}

struct FoundPositions : Outcome {
  std::vector<uint64_t> positions;
};

FoundPositions Differences(const Flags& sender, const Flags& receiver, double expected) {
  const PositionPlan brief = MakePositionPlan(sender.size(), expected);
  EXPECT_TRUE(brief.Fits(sender.size()));
  const Plan plan = brief.Made();
  const Positions positions(brief, sender.size(), kSalt);
  PartitionedDecoder decoder(plan, positions.HashesOf(receiver));
  PartitionedEncoder encoder(plan, positions.HashesOf(sender));
  FoundPositions found;
  static_cast<Outcome&>(found) = Reconcile(plan, &encoder, &decoder);
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (!decoder.IsKnown(group)) continue;
    for (const uint32_t id : decoder.DifferingCells(group)) {
      const std::optional<uint64_t> position = positions.At({group, id});
      EXPECT_TRUE(position.has_value());
      if (position) found.positions.push_back(*position);
    }
  }
  std::sort(found.positions.begin(), found.positions.end());
  return found;
}

// Flags of both sides, and where they differ: at random, side by side, or at equal distances.
enum class Where { kAnywhere, kTogether, kRegular };
std::vector<uint64_t> MakeSides(uint64_t count, uint64_t differences, Where where, uint64_t seed,
                                Flags* sender, Flags* receiver) {
  std::mt19937_64 random(seed);
  sender->resize(count);
  for (uint8_t& flag : *sender) flag = (random() % (2)) == 1;
  *receiver = *sender;
  std::set<uint64_t> positions;
  const uint64_t begin = count == differences ? 0 : (random() % (count - differences));
  for (uint64_t i = 0; positions.size() < differences; i++) {
    positions.insert(where == Where::kAnywhere   ? (random() % (count))
                     : where == Where::kTogether ? begin + i
                                                 : i * (count / differences));
  }
  for (const uint64_t position : positions) (*receiver)[position] ^= 1;
  return {positions.begin(), positions.end()};
}

TEST(PinSketchPositions, FindsWhatDiffers) {
  uint64_t seed = 0, cases = 0, lost = 0;
  for (const uint64_t count : {1u, 2u, 63u, 1000u, 100000u}) {
    for (const uint64_t differences :
         {uint64_t{0}, uint64_t{1}, count / 1000, count / 100, count / 10, count / 2, count}) {
      for (const Where where : {Where::kAnywhere, Where::kTogether, Where::kRegular}) {
        Flags sender, receiver;
        const std::vector<uint64_t> truth =
            MakeSides(count, differences, where, ++seed, &sender, &receiver);
        const FoundPositions found =
            Differences(sender, receiver, static_cast<double>(differences));
        EXPECT_TRUE(std::includes(truth.begin(), truth.end(), found.positions.begin(),
                                  found.positions.end()));
        // Of most positions, groups have more than levels: the flags themselves are shorter then.
        if (differences > count / 10) continue;
        cases++;
        lost += !found.all_known;
        if (found.all_known) {
          EXPECT_EQ(found.positions, truth) << count << " " << differences << " " << seed;
        }
      }
    }
  }
  EXPECT_LE(lost, cases / 10);
}

// For one difference in so many positions, in bits.
TEST(PinSketchPositions, IsAsSmallAsStated) {
  const struct {
    uint64_t differences;
    double most_bits;
  } kCases[] = {{50, 30}, {500, 20}, {5000, 13}, {50000, 9}};
  for (const auto& [differences, most_bits] : kCases) {
    Flags sender, receiver;
    MakeSides(1000000, differences, Where::kAnywhere, differences, &sender, &receiver);
    const FoundPositions found = Differences(sender, receiver, static_cast<double>(differences));
    EXPECT_TRUE(found.all_known);
    const double bits = 8 * static_cast<double>(found.bytes) / static_cast<double>(differences);
    EXPECT_LE(bits, most_bits) << differences << " requests " << found.requests;
  }
}

TEST(PinSketchPositions, GoldenBytes) {
  const PositionPlan many = {11, 489, 8, 164};
  std::string bytes;
  ByteWriter out(&bytes);
  many.Write(&out);
  EXPECT_EQ(HexBytes(bytes), "0be90308a401");
  ByteReader in(bytes);
  PositionPlan read;
  EXPECT_TRUE(read.Read(&in) && in.Finished());
  EXPECT_EQ(read, many);
  const Plan plan = many.Made();
  EXPECT_EQ(plan.field_bits, 11);
  EXPECT_EQ(plan.groups, 489u);
  EXPECT_EQ(plan.raw_levels, 8);
  EXPECT_EQ(plan.parity_symbols,
            (std::vector<uint32_t>{376, 313, 247, 186, 134, 92, 61, 39, 25, 16, 11, 8, 7}));
  EXPECT_TRUE((PositionPlan{20, 3, 9, 100}).Made().parity_symbols.empty());

  const PositionPlan few = {6, 9, 1, 20};
  Flags flags(40);
  for (size_t i = 0; i < flags.size(); i += 3) flags[i] = 1;
  PartitionedEncoder encoder(few.Made(), Positions(few, flags.size(), 7).HashesOf(flags));
  bytes.clear();
  few.Write(&out);
  EXPECT_EQ(HexBytes(bytes), "06090114");
  bytes.clear();
  encoder.WriteSketch(&out);
  EXPECT_EQ(HexBytes(bytes), "03700cc5311447023089c5241623eaa1b885baf8de0e30");
}

TEST(PinSketchPositions, PlansAreWithinTheirLimits) {
  for (const double differences : {0.0, 0.4, 1.0, 10.0, 1e3, 1e6, 1e300}) {
    for (const uint64_t positions : {0u, 1u, 62u, 63u, 64u, 100000u, 8u << 20, (1u << 31) - 1}) {
      const PositionPlan plan = MakePositionPlan(positions, differences);
      EXPECT_TRUE(plan.Fits(positions)) << positions << " " << differences;
      std::string bytes;
      ByteWriter out(&bytes);
      plan.Write(&out);
      ByteReader in(bytes);
      PositionPlan read;
      EXPECT_TRUE(read.Read(&in) && in.Finished());
      EXPECT_EQ(read, plan);
      EXPECT_LE(plan.Made().Levels(), kMostLevels);
    }
  }
}

struct Sides {
  std::vector<uint64_t> sender, receiver;
};

Sides RandomSides(size_t common, size_t sender_only, size_t receiver_only, uint64_t seed) {
  std::mt19937_64 random(seed);
  Sides sides;
  for (size_t i = 0; i < common; i++) sides.sender.push_back(random());
  sides.receiver = sides.sender;
  for (size_t i = 0; i < sender_only; i++) sides.sender.push_back(random());
  for (size_t i = 0; i < receiver_only; i++) sides.receiver.push_back(random());
  return sides;
}

// By group: the cells with an odd number of keys of both sides together.
std::map<uint32_t, std::vector<uint32_t>> TrueCells(const Sides& sides, const Plan& plan) {
  std::map<std::pair<uint32_t, uint32_t>, int> keys;
  for (const std::vector<uint64_t>* side : {&sides.sender, &sides.receiver}) {
    for (uint64_t hash : *side) {
      const Cell cell = CellOf(hash, plan.groups, plan.field_bits);
      keys[{cell.group, cell.id}]++;
    }
  }
  std::map<uint32_t, std::vector<uint32_t>> cells;
  for (const auto& [cell, count] : keys) {
    if (count % 2) cells[cell.first].push_back(cell.second);
  }
  return cells;
}

Outcome Reconcile(const Sides& sides, const Plan& plan) {
  std::string bytes;
  ByteWriter out(&bytes);
  plan.Write(&out);
  ByteReader in(bytes);
  Plan received;
  EXPECT_TRUE(received.Read(&in) && in.Finished());
  EXPECT_EQ(received, plan);
  PartitionedEncoder encoder(plan, sides.sender);
  PartitionedDecoder decoder(received, sides.receiver);
  Outcome outcome = Reconcile(plan, &encoder, &decoder);
  outcome.bytes += bytes.size();
  std::map<uint32_t, std::vector<uint32_t>> truth = TrueCells(sides, plan);
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (decoder.IsKnown(group)) {
      EXPECT_TRUE(std::ranges::equal(decoder.DifferingCells(group), truth[group])) << group;
    }
  }
  return outcome;
}

TEST(PartitionedPinSketch, FindsTheDifferingCells) {
  int rounds = 0, known = 0, requests = 0;
  for (size_t differences : {0, 1, 2, 5, 20, 40, 100, 500, 3000}) {
    for (size_t common : {0, 100, 20000}) {
      for (int share = 0; share <= 2; share++) {
        const size_t sender = differences * static_cast<size_t>(share) / 2;
        const Sides sides = RandomSides(common, sender, differences - sender,
                                        differences * 100 + common + static_cast<size_t>(share));
        const double keys =
            static_cast<double>(std::max(sides.sender.size(), sides.receiver.size()));
        for (double cells : {2.0, 5.0}) {
          const Plan plan = MakePlan(keys, static_cast<double>(differences), cells);
          const Outcome outcome = Reconcile(sides, plan);
          rounds++;
          known += outcome.all_known;
          requests += outcome.requests;
        }
      }
    }
  }
  EXPECT_GE(known, rounds - 2);
  EXPECT_LE(requests, rounds / 5);
}

// Of a sketch of D differences the bound is D k bits; the plan's message has at most 1.16 times
// that.
TEST(PartitionedPinSketch, IsAsSmallAsStatedAndDecodesAtOnce) {
  constexpr size_t kDifferences = 20000;
  int requests = 0;
  for (uint64_t seed = 0; seed < 6; seed++) {
    const Sides sides = RandomSides(20000, kDifferences / 2, kDifferences / 2, seed);
    const Plan plan = MakePlan(30000, kDifferences + 424, 4 + 0.3 * static_cast<double>(seed));
    const Outcome outcome = Reconcile(sides, plan);
    EXPECT_TRUE(outcome.all_known);
    requests += outcome.requests;
    const double bits = static_cast<double>(outcome.bytes) * 8 / kDifferences;
    RecordProperty("bits_over_k_" + std::to_string(seed), std::to_string(bits / plan.field_bits));
    EXPECT_LT(bits, 1.22 * plan.field_bits);
  }
  EXPECT_LE(requests, 2);
}

// An estimate that is too low costs little more than the right one: 5 .. 40 % more differences.
TEST(PartitionedPinSketch, MoreParitySymbolsMakeUpForALowEstimate) {
  for (int percent : {5, 10, 20, 40, 100}) {
    const size_t differences = 8000 * static_cast<size_t>(100 + percent) / 100;
    const Sides sides = RandomSides(10000, differences / 2, differences - differences / 2,
                                    static_cast<uint64_t>(percent));
    const Outcome low = Reconcile(sides, MakePlan(15000, 8000, 4));
    const Outcome right = Reconcile(sides, MakePlan(15000, static_cast<double>(differences), 4));
    EXPECT_TRUE(low.all_known) << percent;
    EXPECT_LE(low.requests, 3) << percent;
    RecordProperty("requests_" + std::to_string(percent), low.requests);
    RecordProperty(
        "share_" + std::to_string(percent),
        std::to_string(static_cast<double>(low.bytes) / static_cast<double>(right.bytes)));
    EXPECT_LT(static_cast<double>(low.bytes),
              (1.05 + 0.002 * percent) * static_cast<double>(right.bytes))
        << percent;
  }
}

TEST(PartitionedPinSketch, GoldenBytes) {
  const std::vector<uint64_t> hashes = {0x0000000100000002, 0x7fffffff12345678, 0xffffffffffffffff,
                                        0x8000000000000000};
  const Plan plan = {10, 5, 1, {3, 5}};
  PartitionedEncoder encoder(plan, hashes);
  std::string bytes;
  ByteWriter out(&bytes);
  plan.Write(&out);
  EXPECT_EQ(HexBytes(bytes), "0a0501020305");
  bytes.clear();
  encoder.WriteSketch(&out);
  EXPECT_EQ(HexBytes(bytes), "0100800400ff430a40000100602c002822fbe26f01");
  std::string answer;
  ByteWriter answer_out(&answer);
  ByteReader request(std::string_view("\x02\x02\x01\x04\x02", 5));
  EXPECT_TRUE(encoder.AnswerRequest(&request, 3, &answer_out));
  EXPECT_EQ(HexBytes(answer), "9092621a");
}

// One flipped bit anywhere in a sketch: what is called known is right all the same, and something
// is not known unless the bit did not matter.
TEST(PartitionedPinSketch, AFlippedBitIsNeverTakenForADifference) {
  const Sides sides = RandomSides(2000, 400, 400, 11);
  const Plan plan = MakePlan(2400, 860, 4);
  std::string intact;
  ByteWriter out(&intact);
  PartitionedEncoder(plan, sides.sender).WriteSketch(&out);
  std::map<uint32_t, std::vector<uint32_t>> truth = TrueCells(sides, plan);
  std::mt19937_64 random(12);
  int noticed = 0;
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; round++) {
    std::string message = intact;
    message[random() % message.size()] ^= static_cast<char>(1 << random() % 8);
    ByteReader in(message);
    PartitionedDecoder decoder(plan, sides.receiver);
    decoder.ReadSketch(&in);
    noticed += !AllKnown(decoder);
    for (uint32_t group = 0; group < plan.groups; group++) {
      if (!decoder.IsKnown(group)) continue;
      ASSERT_TRUE(std::ranges::equal(decoder.DifferingCells(group), truth[group]))
          << "round " << round;
    }
  }
  EXPECT_GE(noticed, kRounds * 3 / 4);
}

TEST(PartitionedPinSketch, RequestsHaveLimits) {
  const Plan plan = {8, 10, 2, {}};
  PartitionedEncoder encoder(plan, std::vector<uint64_t>{1, 2, 3});
  for (const std::string& request :
       {std::string("\x01\x00\x01", 3), std::string("\x01\x03\x00", 3), std::string("\x01\x03\x0b"),
        std::string("\x02\x03\x0a\x03\x01"), std::string("\x01\xff\x7f\x01"),
        std::string("\x02\x03")}) {
    std::string answer;
    ByteWriter out(&answer);
    ByteReader in(request);
    EXPECT_FALSE(encoder.AnswerRequest(&in, 10, &out)) << HexBytes(request);
    EXPECT_EQ(answer, "");
  }
}

}  // namespace

}  // namespace rocksieve::pinsketch
