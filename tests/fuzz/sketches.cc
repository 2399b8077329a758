// SPDX-License-Identifier: Apache-2.0
// Sketches from the other side: a PinSketch with its plan, requests for parity and answers; symbols
// of a rateless IBLT; a difference estimator; a PinSketch of positions. The first byte chooses
// which, the second how many keys this side has.
//
// Oracle: memory stays within what a plan says and the symbols' limit; a sketch of the very same
// keys, changed or not, leaves differing cells only where this side has or could have keys.
#include <optional>
#include <vector>

#include "lib/hash/mix.h"
#include "lib/sketch/estimators.h"
#include "lib/sketch/pinsketch/algebra.h"
#include "lib/sketch/pinsketch/partitioned_pinsketch.h"
#include "lib/sketch/pinsketch/positions.h"
#include "lib/sketch/rateless_iblt.h"
#include "tests/fuzz/target.h"

namespace rocksieve {
namespace {

using fuzz::Choices;

constexpr uint64_t kMostPlanBytes = 16 << 20;
constexpr size_t kTimesWhatIsSaid = 2, kSlackBytes = 1 << 20;
constexpr size_t kMostSymbols = 10000;

std::vector<uint64_t> Hashes(Choices* choices) {
  std::vector<uint64_t> hashes(choices->UpTo(255));
  for (size_t i = 0; i < hashes.size(); i++) hashes[i] = SplitMix64(7, i);
  return hashes;
}

// As the receiver: a plan and a sketch, then answers to what is asked for.
void ReceivePinSketch(Choices* choices) {
  const std::vector<uint64_t> hashes = Hashes(choices);
  const fuzz::ExactCopy message(choices->String()), answers(choices->Rest());
  ByteReader in(message.view());
  pinsketch::Plan plan;
  if (!plan.Read(&in)) return;
  // As the join does, before it makes anything of that size.
  const uint64_t memory_bytes = pinsketch::PartitionedDecoder::MemoryFor(plan, hashes.size());
  if (plan.SketchBytes() > in.remaining() || memory_bytes > kMostPlanBytes) return;
  std::string written;
  ByteWriter out(&written);
  plan.Write(&out);
  ByteReader again(written);
  pinsketch::Plan second;
  FUZZ_CHECK(second.Read(&again) && second == plan);

  pinsketch::Field::OfBits(plan.field_bits);  // its tables are the process's, made once
  const fuzz::MemoryWatch watch(kTimesWhatIsSaid * memory_bytes + kSlackBytes);
  pinsketch::PartitionedDecoder decoder(plan, hashes);
  if (!decoder.ReadSketch(&in)) return;
  ByteReader more(answers.view());
  for (int i = 0; decoder.WantsMore(); i++) {
    FUZZ_CHECK(i < pinsketch::PartitionedDecoder::kMostRequests);
    std::string request;
    ByteWriter request_out(&request);
    decoder.WriteRequest(&request_out);
    if (!decoder.ReadMore(&more)) break;
  }
  const uint32_t ids = uint32_t{1} << plan.field_bits;
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (!decoder.IsKnown(group)) continue;
    const std::span<const uint32_t> cells = decoder.DifferingCells(group);
    FUZZ_CHECK(std::is_sorted(cells.begin(), cells.end()));
    FUZZ_CHECK(cells.empty() || (cells.front() > 0 && cells.back() < ids));
  }
}

// As the sender: a plan that is given, and a request.
void AnswerPinSketch(Choices* choices) {
  constexpr uint64_t kMostParity = 5000;
  const std::vector<uint64_t> hashes = Hashes(choices);
  const pinsketch::Plan plan = pinsketch::MakePlan(static_cast<double>(hashes.size()),
                                                   static_cast<double>(choices->UpTo(255)), 5);
  pinsketch::PartitionedEncoder encoder(plan, hashes);
  for (int i = 0; i < 4 && !choices->empty(); i++) {
    const fuzz::ExactCopy request(choices->String());
    ByteReader in(request.view());
    std::string answer;
    ByteWriter out(&answer);
    if (!encoder.AnswerRequest(&in, kMostParity, &out)) return FUZZ_CHECK(answer.empty());
    FUZZ_CHECK(answer.size() <= kMostParity * 4 + 8);
  }
}

// A plan of positions, and the sketch that came with it.
void ReceivePositions(Choices* choices) {
  std::vector<uint8_t> flags(choices->UpTo(1000));
  for (size_t i = 0; i < flags.size(); i++) flags[i] = Mix64(i) % 2 == 0;
  const fuzz::ExactCopy message(choices->Rest());
  ByteReader in(message.view());
  pinsketch::PositionPlan brief;
  if (!brief.Read(&in)) return;
  std::string written;
  ByteWriter out(&written);
  brief.Write(&out);
  FUZZ_CHECK(message.view().substr(0, written.size()) == written);
  const pinsketch::Plan plan = brief.Made();
  FUZZ_CHECK(plan.Levels() <= pinsketch::kMostLevels);
  const uint64_t memory_bytes = pinsketch::PartitionedDecoder::MemoryFor(plan, flags.size());
  if (!brief.Fits(flags.size()) || plan.SketchBytes() > in.remaining() ||
      memory_bytes > kMostPlanBytes) {
    return;
  }
  const pinsketch::Positions positions(brief, flags.size(), 1);
  const std::vector<uint64_t> hashes = positions.HashesOf(flags);
  pinsketch::PartitionedDecoder decoder(plan, hashes);
  if (!decoder.ReadSketch(&in)) return;
  for (uint32_t group = 0; group < plan.groups; group++) {
    if (!decoder.IsKnown(group)) continue;
    for (const uint32_t id : decoder.DifferingCells(group)) {
      const std::optional<uint64_t> position = positions.At({group, id});
      FUZZ_CHECK(!position || *position < flags.size());
    }
  }
}

void ReceiveSymbols(Choices* choices) {
  RatelessFormat format;
  format.id_bits = 32 + static_cast<int>(choices->UpTo(32));
  const std::vector<uint64_t> hashes = Hashes(choices);
  RatelessDecoder decoder({hashes.begin(), hashes.end()}, format, kMostSymbols);
  while (!choices->empty()) {
    const fuzz::ExactCopy message(choices->String());
    ByteReader in(message.view());
    if (!decoder.Consume(&in)) return;
    FUZZ_CHECK(decoder.symbols() <= kMostSymbols);
    if (!decoder.done()) continue;
    const SetDifference difference = decoder.Difference();
    FUZZ_CHECK(std::is_sorted(difference.only_remote.begin(), difference.only_remote.end()));
    FUZZ_CHECK(std::is_sorted(difference.only_local.begin(), difference.only_local.end()));
    return;
  }
}

void ReceiveEstimator(Choices* choices) {
  const size_t counters = 1 + choices->UpTo(1023);
  DifferenceEstimator own(counters), read(counters);
  for (const uint64_t hash : Hashes(choices)) own.Add(hash);
  const fuzz::ExactCopy message(choices->Rest());
  ByteReader in(message.view());
  if (!read.Read(&in)) return;
  FUZZ_CHECK(DifferenceEstimator::Estimate(own, read) >= 0);
}

}  // namespace
}  // namespace rocksieve

FUZZ_TARGET(sketches) {
  using namespace rocksieve;
  fuzz::Choices choices(input);
  static constexpr void (*kReaders[])(fuzz::Choices*) = {
      ReceivePinSketch, AnswerPinSketch, ReceiveSymbols, ReceivePositions, ReceiveEstimator};
  kReaders[choices.UpTo(4)](&choices);
}
