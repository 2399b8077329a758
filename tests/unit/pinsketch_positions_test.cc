// SPDX-License-Identifier: Apache-2.0
// Flags at positions: which of them differ, beside a comparison one by one.
#include "lib/sketch/pinsketch/positions.h"

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"
#include "support/text.h"

namespace rocksieve::pinsketch {
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
        const Cell cell = positions.CellOf(position);
        ASSERT_EQ(hashes[position], HashOf(cell, groups, 6));
        ASSERT_LT(cell.group, groups);
        ASSERT_TRUE(cell.id >= 1 && cell.id < 64);
        ASSERT_EQ(positions.At(cell), position);
        ASSERT_TRUE(cells.emplace(cell.group, cell.id).second);
        const Cell again = CellOf(HashOf(cell, groups, 6), groups, 6);
        ASSERT_TRUE(again.group == cell.group && again.id == cell.id);
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

TEST(PinSketchPositions, HashesStandForTheirCells) {
  std::mt19937_64 random(1);
  for (int bits = Field::kLeastBits; bits <= Field::kMostBits; bits++) {
    for (int round = 0; round < 1000; round++) {
      const auto groups = static_cast<uint32_t>(1 + random() % (round % 2 ? 100 : UINT32_MAX - 1));
      const auto ids = (uint64_t{1} << bits) - 1;
      const Cell cells[] = {{0, 1},
                            {groups - 1, static_cast<uint32_t>(ids)},
                            {static_cast<uint32_t>((random() % (groups))),
                             static_cast<uint32_t>(1 + (random() % (ids)))}};
      for (const Cell& cell : cells) {
        const Cell again = CellOf(HashOf(cell, groups, bits), groups, bits);
        ASSERT_TRUE(again.group == cell.group && again.id == cell.id) << groups << " " << bits;
      }
    }
  }
}

struct FoundPositions {
  std::vector<uint64_t> positions;
  uint64_t bytes = 0;
  int requests = 0;
  bool all_known = false;
};

FoundPositions Differences(const Flags& sender, const Flags& receiver, double expected) {
  const PositionPlan brief = MakePositionPlan(sender.size(), expected);
  EXPECT_TRUE(brief.Fits(sender.size()));
  const Plan plan = brief.Made();
  const Positions positions(brief, sender.size(), kSalt);
  std::string message;
  ByteWriter out(&message);
  PartitionedEncoder encoder(plan, positions.HashesOf(sender));
  encoder.WriteSketch(&out);
  FoundPositions found;
  found.bytes = message.size();
  PartitionedDecoder decoder(plan, positions.HashesOf(receiver));
  ByteReader in(message);
  EXPECT_TRUE(decoder.ReadSketch(&in) && in.Finished());
  while (decoder.WantsMore()) {
    std::string request, answer;
    ByteWriter request_out(&request), answer_out(&answer);
    decoder.WriteRequest(&request_out);
    ByteReader request_in(request);
    EXPECT_TRUE(encoder.AnswerRequest(&request_in, uint64_t{1} << 30, &answer_out));
    ByteReader answer_in(answer);
    EXPECT_TRUE(decoder.ReadMore(&answer_in));
    found.bytes += request.size() + answer.size();
    found.requests++;
  }
  found.all_known = decoder.all_known();
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
  std::mt19937_64 random(3);
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
  for (int round = 0; round < 100000; round++) {
    std::string bytes(8, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() >> (random() % 64));
    ByteReader in(bytes);
    PositionPlan plan;
    if (!plan.Read(&in)) continue;
    const Plan made = plan.Made();
    EXPECT_LE(made.Levels(), kMostLevels);
    for (const uint32_t symbols : made.parity_symbols) EXPECT_LE(symbols, plan.groups);
  }
}

TEST(PinSketchPositions, AWrongEstimateIsMadeUpFor) {
  Flags sender, receiver;
  const std::vector<uint64_t> truth =
      MakeSides(200000, 2000, Where::kAnywhere, 7, &sender, &receiver);
  for (const double expected : {500.0, 1500.0, 8000.0}) {
    const FoundPositions found = Differences(sender, receiver, expected);
    EXPECT_TRUE(found.all_known);
    EXPECT_EQ(found.positions, truth);
  }
}

}  // namespace
}  // namespace rocksieve::pinsketch
