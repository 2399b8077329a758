// Groups, parity symbols, plans, and whole sketches; right and wrong estimates; hostile peers.
#include "sketch/pinsketch/partitioned_pinsketch.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "support.h"

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
  EXPECT_TRUE(received.Read(&in, uint64_t{1} << 30));
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
      EXPECT_TRUE(decoder.DifferingCells(group) == truth[group]) << group;
    }
  }
  return outcome;
}

TEST(PartitionedPinSketch, CellTableHoldsEveryKeyInItsPlace) {
  const Sides sides = RandomSides(5000, 0, 0, 1);
  const CellTable table(sides.sender, 37, 6);
  ASSERT_EQ(table.groups(), 37u);
  size_t entries = 0;
  for (uint32_t group = 0; group < 37; group++) {
    std::map<uint32_t, int> count;
    const CellEntry* previous = nullptr;
    for (const CellEntry& entry : table.Group(group)) {
      const Cell cell = CellOf(sides.sender[entry.index], 37, 6);
      EXPECT_EQ(cell.group, group);
      EXPECT_EQ(cell.id, entry.id);
      EXPECT_GE(cell.id, 1u);
      EXPECT_LE(cell.id, 63u);
      if (previous != nullptr) {
        EXPECT_LE(std::make_pair(previous->id, previous->index),
                  std::make_pair(entry.id, entry.index));
      }
      previous = &entry;
      count[entry.id]++;
      entries++;
    }
    std::vector<uint32_t> odd, expected;
    table.OddCells(group, &odd);
    for (auto [id, n] : count) {
      if (n % 2) expected.push_back(id);
    }
    EXPECT_EQ(odd, expected);
  }
  EXPECT_EQ(entries, 5000u);
  EXPECT_EQ(CellOf(~uint64_t{0}, 37, 20).id, (1u << 20) - 1);
  EXPECT_EQ(CellOf(0, 37, 20).id, 1u);
}

// Solvable with as many symbols as stated, in one batch or in several, and the right answer.
TEST(PartitionedPinSketch, ParityGivesTheMissingSums) {
  std::mt19937_64 random(2);
  int failures = 0, rounds = 0;
  for (uint32_t unknowns : {1, 2, 7, 50, 120, 300, 2000}) {
    for (int round = 0; round < (unknowns > 1000 ? 5 : 40); round++, rounds++) {
      const uint32_t groups = unknowns * 3 + 20;
      std::vector<uint32_t> sums(groups), unknown;
      for (uint32_t& sum : sums) sum = random() & 0xfff;
      for (uint32_t group = 0; group < groups; group++) unknown.push_back(group);
      std::shuffle(unknown.begin(), unknown.end(), random);
      unknown.resize(unknowns);
      std::sort(unknown.begin(), unknown.end());
      const uint32_t enough = SymbolsForKnown(unknowns);
      std::vector<uint32_t> sizes = {enough};
      if (round % 4 == 1) sizes = {enough / 2, enough - enough / 2};
      if (round % 4 == 2) sizes = {enough - enough / 5, enough / 5 + 1};
      if (round % 4 == 3) sizes = {enough / 5 + 1, enough};
      std::vector<ParityBatch> batches;
      for (uint32_t size : sizes) {
        batches.emplace_back(20 + round, static_cast<int>(batches.size()), groups,
                             std::max<uint32_t>(size, 1), std::max<uint32_t>(sizes[0], 1));
        ParityBatch known(batches.back());
        for (uint32_t group = 0; group < groups; group++) {
          if (std::binary_search(unknown.begin(), unknown.end(), group)) {
            batches.back().AddToSymbols(group, sums[group]);
          }
        }
      }
      std::vector<uint32_t> found;
      if (SolveLevel(batches, unknown, &found) != ParityResult::kSolved) {
        failures++;
        continue;
      }
      for (size_t i = 0; i < unknown.size(); i++) ASSERT_EQ(found[i], sums[unknown[i]]);
      // A wrong sum among those that were taken for known.
      batches[0].AddToSymbols(0, 77);
      if (batches[0].IsPlain() || std::binary_search(unknown.begin(), unknown.end(), 0u)) continue;
      if (SolveLevel(batches, unknown, &found) == ParityResult::kSolved) {
        EXPECT_LT(batches[0].symbols.size(), unknowns + 20);
      }
    }
  }
  EXPECT_LE(failures, rounds / 40);
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

TEST(PartitionedPinSketch, PlansAreWithinTheirLimits) {
  for (double keys : {0.0, 1.0, 100.0, 1e6, 1e9}) {
    for (double differences : {0.0, 1.0, 30.0, 1e4, 1e6, 1e12}) {
      for (double cells : {-5.0, 1.0, 5.0, 9.0, 40.0}) {
        const Plan plan = MakePlan(keys, differences, cells);
        EXPECT_GE(plan.field_bits, 6);
        EXPECT_LE(plan.field_bits, 20);
        EXPECT_GE(plan.groups, 1u);
        EXPECT_LE(plan.Levels(), kMostLevels);
        for (uint32_t symbols : plan.parity_symbols) EXPECT_LE(symbols, plan.groups);
      }
    }
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
  EXPECT_EQ(ToHex(bytes), "0a0501020305");
  bytes.clear();
  encoder.WriteSketch(&out);
  EXPECT_EQ(ToHex(bytes), "0100800400ff430a40000100602c002822fbe26f01");
  std::string answer;
  ByteWriter answer_out(&answer);
  ByteReader request(std::string_view("\x02\x02\x01\x04\x02", 5));
  EXPECT_TRUE(encoder.AnswerRequest(&request, 3, &answer_out));
  EXPECT_EQ(ToHex(answer), "9092621a");
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
    if (!received.Read(&in, 1 << 16) || received.SketchBytes() > in.remaining()) continue;
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
    EXPECT_FALSE(encoder.AnswerRequest(&in, 10, &out)) << ToHex(request);
    EXPECT_EQ(answer, "");
  }
}

}  // namespace
}  // namespace rocksieve::pinsketch
