// SPDX-License-Identifier: Apache-2.0
// Whole sketches: right and wrong estimates of the differences, and hostile peers.
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "support/text.h"
#include "tests/support.h"

namespace rocksieve::pinsketch {
namespace {

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

struct Outcome {
  uint64_t bytes = 0;
  int requests = 0;
  bool all_known = false;
};

Outcome Reconcile(const Sides& sides, const Plan& plan) {
  Outcome outcome;
  std::string message;
  ByteWriter out(&message);
  plan.Write(&out);
  PartitionedEncoder encoder(plan, sides.sender);
  encoder.WriteSketch(&out);
  outcome.bytes = message.size();
  const ExactCopy copy(message);
  ByteReader in(copy.view());
  Plan received;
  EXPECT_TRUE(received.Read(&in));
  EXPECT_EQ(received, plan);
  EXPECT_EQ(in.remaining(), plan.SketchBytes());
  PartitionedDecoder decoder(received, sides.receiver);
  EXPECT_TRUE(decoder.ReadSketch(&in) && in.Finished());
  while (decoder.WantsMore()) {
    std::string request, answer;
    ByteWriter request_out(&request), answer_out(&answer);
    decoder.WriteRequest(&request_out);
    ByteReader request_in(request);
    EXPECT_TRUE(encoder.AnswerRequest(&request_in, uint64_t{1} << 30, &answer_out));
    EXPECT_TRUE(request_in.Finished());
    ByteReader answer_in(answer);
    EXPECT_TRUE(decoder.ReadMore(&answer_in) && answer_in.Finished());
    outcome.bytes += request.size() + answer.size();
    outcome.requests++;
  }
  outcome.all_known = decoder.all_known();
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
    noticed += !decoder.all_known();
    for (uint32_t group = 0; group < plan.groups; group++) {
      if (!decoder.IsKnown(group)) continue;
      ASSERT_TRUE(std::ranges::equal(decoder.DifferingCells(group), truth[group]))
          << "round " << round;
    }
  }
  EXPECT_GE(noticed, kRounds * 3 / 4);
}

// Damaged plans, sketches, requests and answers: false, or an end.
TEST(PartitionedPinSketch, DamagedAndRandomBytes) {
  std::mt19937_64 random(9);
  const Sides sides = RandomSides(300, 60, 60, 3);
  const Plan plan = MakePlan(360, 70, 4);
  std::string intact;
  ByteWriter out(&intact);
  plan.Write(&out);
  PartitionedEncoder encoder(plan, sides.sender);
  encoder.WriteSketch(&out);
  for (int round = 0; round < 1000; round++) {
    std::string message = intact;
    if (round % 4 == 0) message.resize(random() % message.size());
    for (int flips = 0; flips <= round % 3 && !message.empty(); flips++) {
      const size_t at =
          round % 2 ? random() % std::min<size_t>(message.size(), 8) : random() % message.size();
      message[at] = static_cast<char>(random());
    }
    const ExactCopy copy(message);
    ByteReader in(copy.view());
    Plan received;
    if (!received.Read(&in) || received.SketchBytes() > in.remaining()) continue;
    if (received.MemoryBytes() > 1 << 18) continue;  // the caller of Read() looks
    PartitionedDecoder decoder(received, sides.receiver);
    EXPECT_TRUE(decoder.ReadSketch(&in) || !in.ok());
    for (int requests = 0; decoder.WantsMore(); requests++) {
      ASSERT_LT(requests, PartitionedDecoder::kMostRequests);
      std::string request, answer;
      ByteWriter request_out(&request);
      decoder.WriteRequest(&request_out);
      if (round % 5 == 0) request[random() % request.size()] = static_cast<char>(random());
      ByteReader request_in(request);
      ByteWriter answer_out(&answer);
      PartitionedEncoder other(received, sides.sender);
      other.AnswerRequest(&request_in, 10000, &answer_out);
      for (char& byte : answer) {
        if (random() % 8 == 0) byte = static_cast<char>(random());
      }
      const ExactCopy answer_copy(answer);
      ByteReader answer_in(answer_copy.view());
      if (!decoder.ReadMore(&answer_in)) break;
    }
  }
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
