// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/value_comparison.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/format/bit_coder.h"
#include "lib/format/bit_io.h"
#include "lib/join/matching/matching_range.h"
#include "lib/sketch/pinsketch/positions.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using pinsketch::Positions;

constexpr uint64_t kValuesStep = 0x76616c756573;  // apart from the salts of the keys' parts
constexpr int kMostFlagBits = 8;
constexpr int kIsSketch = 128;
constexpr size_t kFewRows = 256;    // all bits of these at once: no estimate is as short
constexpr size_t kSomeRows = 2000;  // of these a rough estimate
constexpr double kNoneLeft = 0.3;   // changed rows, expected
constexpr int kMostValues = 64;     // parts: half of what is left is named each time
constexpr int kFewRoundTrips = 2;

MatchingOptions OfValues(MatchingOptions options) {
  options.salt = SplitMix64(options.salt, kValuesStep);
  return options;
}

uint64_t LowBits(int bits) { return (uint64_t{1} << bits) - 1; }

// Of a changed row, and of the bits that the sender of the values has there.
uint32_t CheckOfChanged(uint64_t salt, uint64_t row, uint64_t bits) {
  return static_cast<uint32_t>(Mix64(Mix64(salt + row) + bits));
}

}  // namespace

ValueComparison::ValueComparison(Candidates matched, std::vector<uint64_t> digests,
                                 const MatchingOptions& options, bool differ)
    : summer_(SplitMix64(options.salt, kValuesStep)),
      digests_(std::move(digests)),
      range_(ByRows(std::move(matched)), OfValues(options)),
      state_(options.is_client ? State::kTheirTurn : State::kMyTurn),
      expected_(differ ? Expected::kFirst : Expected::kRowSum),
      turn_(differ ? FirstTurn() : Turn::kRowSum),
      layer_(&range_),
      left_(static_cast<double>(rows()) / 2) {}

uint64_t ValueComparison::KeptBytes() const {
  return layer_.KeptBytes() + VectorBytes(changed_) + VectorBytes(flags_) + parity_.capacity();
}

ValueComparison::Turn ValueComparison::FirstTurn() const {
  return rows() <= kFewRows ? Turn::kValues : Turn::kEstimator;
}

Candidates ValueComparison::TakeChanged() {
  std::sort(changed_.begin(), changed_.end(),
            [](const Candidate& a, const Candidate& b) { return a.ordinal < b.ordinal; });
  return ByKeys(std::move(changed_));
}

Candidates ValueComparison::ByRows(Candidates keys) const {
  // Of a hash that was changed so, the same once more is what it was.
  for (Candidate& key : keys) key.hash = HashOfRow(key.hash, digests_[key.ordinal]);
  return keys;
}

SetSum ValueComparison::SumOfRows() const {
  SetSum sum;
  for (const Candidate& row : range_.candidates.all()) {
    summer_.Add(row.hash, &sum);
  }
  return sum;
}

uint64_t ValueComparison::HashAt(size_t row) const {
  return HashForStep(range_.candidates.all()[row].hash, salt_);
}

std::vector<uint8_t> ValueComparison::OwnFlags() const {
  std::vector<uint8_t> flags(rows() * static_cast<size_t>(bits_));
  uint8_t* next = flags.data();
  for (const Candidate& row : range_.candidates.all()) {
    const uint64_t hash = HashForStep(row.hash, salt_);
    for (int bit = 0; bit < bits_; bit++) *next++ = hash >> bit & 1;
  }
  return flags;
}

// Of one bit, the values are the shortest, but name half of the changed rows.
int ValueComparison::BitsOfNextValues() const {
  if (rows() <= kFewRows) return kMostFlagBits;
  if (range_.options.planner.most_round_trips <= kFewRoundTrips) return 4;
  const double share = left_ / std::max(at_first_, left_);
  return share > 0.03 ? 1 : share > 0.01 ? 2 : 4;
}

// Each changed row was named with the chance 1 - q, apart from each other.
void ValueComparison::EstimateLeft(double named, double known_share) {
  const double q = std::exp2(-bits_);
  const double all = named / (1 - q) / std::max(0.05, known_share);
  left_ = all - named;
  if (known_share < 0.5) left_ = std::max(left_, at_least_ *= 2);  // more than was thought
  left_error_ = std::sqrt((named + 1) * q) / (1 - q);
  at_first_ = std::max(at_first_, all);
}

absl::Status ValueComparison::NextStep(std::string* step) {
  absl::Status status = range_.HoldForWork(KeptBytes());
  if (!status.ok()) return status;
  state_ = State::kTheirTurn;
  range_.counts.turns++;
  switch (turn_) {
    case Turn::kRowSum:
      SendSum(step);
      break;
    case Turn::kEstimator:
      SendEstimator(step);
      break;
    case Turn::kValues:
      status = SendValues(step);
      break;
    case Turn::kAnswer:
      status = SendAnswer(step);
      break;
    case Turn::kParity:
      range_.Append(Part::kParity, parity_, step);
      expected_ = Expected::kAnswer;
      break;
  }
  return status.ok() ? range_.Hold(KeptBytes()) : status;
}

void ValueComparison::SendSum(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  // Of no rows, where the sides do not speak of the same: the client has some, and sees it.
  (contradicted_ ? SetSum() : SumOfRows()).Write(&out);
  range_.Append(Part::kRowSum, body, step);
  expected_ = Expected::kAfterSum;
}

void ValueComparison::SendEstimator(std::string* step) {
  const size_t counters = rows() <= kSomeRows ? 64 : 128;
  range_.Append(Part::kValueEstimator,
                EncodeEstimator(range_.candidates.all(), counters, range_.PartSalt()), step);
  expected_ = Expected::kValues;
}

//   u8 bits of each row, and 128 for a sketch | the flags, a bit for each; or plan (positions.h)
//   and sketch (partitioned_pinsketch.h) of those that are set
absl::Status ValueComparison::SendValues(std::string* step) {
  if (values_++ == kMostValues) return Contradiction();
  salt_ = range_.PartSalt();
  bits_ = BitsOfNextValues();
  flags_ = OwnFlags();
  const double differences = left_ * bits_ / 2, error = left_error_ * bits_ / 2;
  plan_ = pinsketch::MakePositionPlan(flags_.size(),
                                      differences + 0.2 * std::sqrt(differences + error * error));
  const pinsketch::Plan plan = plan_.Made();
  const size_t flag_bytes = (flags_.size() + 7) / 8;
  is_sketch_ = plan.SketchBytes() < flag_bytes;
  std::string body;
  ByteWriter out(&body);
  out.U8(static_cast<uint8_t>(bits_ | (is_sketch_ ? kIsSketch : 0)));
  if (is_sketch_) {
    const std::vector<uint64_t> hashes = Positions(plan_, flags_.size(), salt_).HashesOf(flags_);
    if (!layer_.HasRoomFor(plan, hashes.size())) {
      return absl::ResourceExhaustedError(
          "comparing values would take more memory, or a longer message, than is allowed: allow "
          "more, or use smaller ranges");
    }
    plan_.Write(&out);
    layer_.WriteSketch(plan, hashes, &out);
  } else {
    BitWriter bits(&body);
    for (const uint8_t flag : flags_) bits.Put(flag, 1);
    bits.Finish();
  }
  range_.Append(Part::kValueSketch, body, step);
  expected_ = Expected::kAnswer;
  return absl::OkStatus();
}

//   flags, one for each row: it is changed | u32 sum of the checks of these
absl::Status ValueComparison::SendAnswer(std::string* step) {
  std::string body;
  ByteWriter out(&body);
  if (is_sketch_ && layer_.WantsMore()) {
    layer_.WriteRequest(&out);
    range_.Append(Part::kMoreParity, body, step);
    expected_ = Expected::kParity;
    return absl::OkStatus();
  }
  double known_share = 1;
  const std::vector<uint8_t> differences = Differences(&known_share);
  std::vector<uint8_t> changed(rows());
  uint32_t check = 0;
  double named = 0;
  for (size_t row = 0; row < rows(); row++) {
    uint64_t differ = 0;
    for (int bit = 0; bit < bits_; bit++) {
      const size_t flag = row * static_cast<size_t>(bits_) + static_cast<size_t>(bit);
      differ |= uint64_t{differences[flag]} << bit;
    }
    if (differ == 0) continue;
    changed[row] = 1;
    named++;
    check += CheckOfChanged(salt_, row, (HashAt(row) & LowBits(bits_)) ^ differ);
  }
  EncodeFlags(changed, &out);
  out.U32(check);
  range_.Append(Part::kChangedRows, body, step);
  EstimateLeft(named, known_share);
  TakeOut(changed);
  if (left_ >= kNoneLeft) return SendValues(step);
  SendSum(step);
  return absl::OkStatus();
}

std::vector<uint8_t> ValueComparison::Differences(double* known_share) const {
  if (!is_sketch_) return flags_;
  std::vector<uint8_t> differences(flags_.size());
  const pinsketch::PartitionedDecoder& decoder = layer_.decoder();
  const Positions positions(plan_, flags_.size(), salt_);
  uint32_t known = 0;
  for (uint32_t group = 0; group < plan_.groups; group++) {
    if (!decoder.IsKnown(group)) continue;
    known++;
    for (const uint32_t id : decoder.DifferingCells(group)) {
      // A cell of no position was decoded wrongly, or is of a sender that is broken.
      const std::optional<uint64_t> position = positions.At({group, id});
      if (position) differences[*position] = 1;
    }
  }
  *known_share = static_cast<double>(known) / plan_.groups;
  return differences;
}

void ValueComparison::TakeOut(std::span<const uint8_t> changed) {
  std::vector<uint8_t> keep(rows());
  for (size_t row = 0; row < rows(); row++) {
    keep[row] = changed[row] == 0;
    if (changed[row] != 0) changed_.push_back(range_.candidates.all()[row]);
  }
  range_.candidates.Keep(keep);
  layer_.Drop();
}

absl::Status ValueComparison::Contradiction() {
  if (!range_.options.is_client) return Nonsense("values that do not come to an end");
  state_ = State::kContradicted;
  return absl::OkStatus();
}

absl::Status ValueComparison::Receive(std::string_view step) {
  state_ = State::kMyTurn;
  range_.counts.turns++;
  turn_goes_on_ = true;
  absl::Status status;
  const bool read = VisitParts(step, [this, &status](Part part, std::string_view body) {
    if (!status.ok() || state_ == State::kContradicted) return;
    status = ReceivePart(part, body);
    range_.parts++;
  });
  if (!status.ok()) return status;
  if (!read || (turn_goes_on_ && state_ == State::kMyTurn)) return Nonsense("half a step");
  return range_.Hold(KeptBytes());
}

absl::Status ValueComparison::ReceivePart(Part part, std::string_view body) {
  if (!turn_goes_on_ || state_ != State::kMyTurn) return OutOfTurn(part);
  RETURN_IF_ERROR(range_.HoldForWork(KeptBytes()));
  turn_goes_on_ = false;
  if (contradicted_) {
    turn_ = Turn::kRowSum;
    return absl::OkStatus();
  }
  const bool is_client = range_.options.is_client;
  const bool nothing_compared = values_ == 0;
  switch (expected_) {
    case Expected::kRowSum:
      if (part == Part::kRowSum) return ReceiveSum(body);
      break;
    case Expected::kFirst:
      if (part == Part::kValueEstimator) return ReceiveEstimator(body);
      if (part == Part::kValueSketch) return ReceiveValues(body);
      break;
    case Expected::kValues:
      if (part == Part::kValueSketch) return ReceiveValues(body);
      break;
    case Expected::kAnswer:
      if (part == Part::kChangedRows) return ReceiveChanged(body);
      if (part == Part::kRowSum && is_client) return ReceiveSum(body);  // the server sees no end
      if (part == Part::kMoreParity && is_sketch_) {
        parity_.clear();
        turn_ = Turn::kParity;
        return layer_.AnswerRequest(body, &parity_);
      }
      break;
    case Expected::kParity:
      turn_ = Turn::kAnswer;
      if (part == Part::kParity) return layer_.ReadParity(body);
      break;
    case Expected::kRest:
      if (part == Part::kRowSum) return ReceiveSum(body);
      if (part == Part::kValueSketch) return ReceiveValues(body);
      break;
    case Expected::kAfterSum:
      if (part == Part::kValueSketch) return ReceiveValues(body);
      if (part == Part::kValueEstimator && nothing_compared && !is_client) {
        return ReceiveEstimator(body);
      }
      if (part == Part::kRowSum && is_client) return ReceiveSum(body);
      break;
  }
  return OutOfTurn(part);
}

absl::Status ValueComparison::ReceiveSum(std::string_view body) {
  ByteReader in(body);
  SetSum theirs;
  if (!theirs.Read(&in) || !in.Finished()) return Nonsense("a damaged sum");
  const bool is_client = range_.options.is_client;
  if (theirs.count != rows()) {
    if (!is_client) return Nonsense("a sum of other rows");
    state_ = State::kContradicted;
    return absl::OkStatus();
  }
  if (SumOfRows() == theirs) {
    if (is_client) {
      state_ = State::kReconciled;
    } else {
      turn_ = Turn::kRowSum;
    }
    return absl::OkStatus();
  }
  turn_ = values_ == 0 ? FirstTurn() : Turn::kValues;
  if (values_ > 0) left_ = std::max(left_, at_least_ *= 2);
  return absl::OkStatus();
}

absl::Status ValueComparison::ReceiveEstimator(std::string_view body) {
  double equal = 0;
  RETURN_IF_ERROR(EstimateCommon(body, rows(), range_.candidates.all(), range_.PartSalt(), &equal));
  const auto all = static_cast<double>(rows());
  left_ = at_first_ = std::max(1.0, all - equal);
  left_error_ = CommonError(CountersIn(body), equal, all, all) / 2;
  turn_ = Turn::kValues;
  return absl::OkStatus();
}

absl::Status ValueComparison::ReceiveValues(std::string_view body) {
  if (values_++ == kMostValues) return Nonsense("values that do not come to an end");
  ByteReader in(body);
  const int head = in.U8();
  is_sketch_ = (head & kIsSketch) != 0;
  bits_ = head & ~kIsSketch;
  if (!in.ok() || bits_ < 1 || bits_ > kMostFlagBits) return Nonsense("damaged values");
  salt_ = range_.PartSalt();
  flags_ = OwnFlags();
  turn_ = Turn::kAnswer;
  if (!is_sketch_) {
    const std::string_view packed = in.Rest();
    BitReader bits(packed);
    for (uint8_t& flag : flags_) flag ^= static_cast<uint8_t>(bits.Take(1));
    return bits.Finished() ? absl::OkStatus() : Nonsense("damaged values");
  }
  if (!plan_.Read(&in) || !plan_.Fits(flags_.size())) return Nonsense("damaged values");
  const auto set = static_cast<size_t>(std::count(flags_.begin(), flags_.end(), 1));
  RETURN_IF_ERROR(layer_.TakePlan(plan_.Made(), in, set));
  const std::vector<uint64_t> hashes = Positions(plan_, flags_.size(), salt_).HashesOf(flags_);
  if (!layer_.ReadSketch(&in, hashes) || !in.Finished()) {
    return Nonsense("damaged values");
  }
  return absl::OkStatus();
}

absl::Status ValueComparison::ReceiveChanged(std::string_view body) {
  ByteReader in(body);
  PageVector<uint8_t> changed;
  if (!DecodeFlags(&in, rows(), &changed)) return Nonsense("damaged flags of changed rows");
  const uint32_t their_check = in.U32();
  if (!in.Finished()) return Nonsense("damaged flags of changed rows");
  uint32_t check = 0;
  double named = 0;
  for (size_t row = 0; row < rows(); row++) {
    if (changed[row] == 0) continue;
    named++;
    check += CheckOfChanged(salt_, row, HashAt(row) & LowBits(bits_));
  }
  expected_ = Expected::kRest;
  turn_goes_on_ = true;
  if (check != their_check) {
    // What the other side made of the sketch is wrong, hardly ever.
    if (range_.options.is_client) {
      state_ = State::kContradicted;
    } else {
      contradicted_ = true;
    }
    return absl::OkStatus();
  }
  EstimateLeft(named, 1);
  TakeOut(changed);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
