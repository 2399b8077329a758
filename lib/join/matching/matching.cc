// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/matching.h"

namespace rocksieve::join {

Matching::Matching(Candidates candidates, const Options& options, KeyReader reader)
    : summer_(options.salt),
      reader_(std::move(reader)),
      range_(std::move(candidates), options),
      step_(FilterStep(&range_)),
      state_(options.begins ? State::kMyTurn : State::kTheirTurn) {}

uint64_t Matching::KeptBytes() const {
  return std::visit([](const auto& step) { return step.KeptBytes(); }, step_);
}

absl::Status Matching::NextStep(std::string* step) {
  absl::Status status = range_.HoldForWork(KeptBytes());
  if (!status.ok()) return status;
  state_ = State::kTheirTurn;
  range_.counts.turns++;
  status = SendPart(step);
  return status.ok() ? range_.Hold(KeptBytes()) : status;
}

absl::Status Matching::SendPart(std::string* step) {
  if (std::holds_alternative<FilterStep>(step_)) return SendPlanned(step);
  if (auto* const sketch = std::get_if<SketchStep>(&step_)) return SendSketchPart(sketch, step);
  if (auto* const list = std::get_if<ListStep>(&step_)) {
    list->Send(step);
  } else if (auto* const symbols = std::get_if<SymbolsStep>(&step_)) {
    const absl::Status status = symbols->Send(step);
    if (!status.ok() || !symbols->done()) return status;
  }
  SendSumIfServer(step);
  return absl::OkStatus();
}

absl::Status Matching::SendPlanned(std::string* step) {
  if (range_.candidates.empty() || (range_.their_count_is_exact && range_.their_count == 0)) {
    range_.candidates.Clear();
    // That nothing is matched needs no answer if the server says it; else a list of none.
    if (range_.options.is_client) {
      step_.emplace<ListStep>(&range_).SendList(step);
    } else {
      SendSumIfServer(step);
    }
    return absl::OkStatus();
  }
  FilterStep& filter = std::get<FilterStep>(step_);
  const PlannedStep planned = filter.Planned();
  if (planned.filter_width > 0) {
    filter.Send(planned, step);
    if (!planned.ending) return absl::OkStatus();
  }
  ending_ = *planned.ending;
  switch (ending_) {
    case Part::kKeys:
      return step_.emplace<ListStep>(&range_).SendKeys(reader_, step);
    case Part::kSymbols:
      return step_.emplace<SymbolsStep>(&range_).SendFirst(step);
    case Part::kSketch:
      return step_.emplace<SketchStep>(&range_).SendFirst(planned.cells_log2, step);
    default:
      step_.emplace<ListStep>(&range_).SendList(step);
      return absl::OkStatus();
  }
}

absl::Status Matching::SendSketchPart(SketchStep* sketch, std::string* step) {
  sketch->Send(step);
  if (!sketch->done()) return absl::OkStatus();
  const SketchOutcome outcome = sketch->outcome();
  SymbolsStep& symbols = step_.emplace<SymbolsStep>(&range_, outcome);
  return outcome.sends_symbols ? symbols.SendFirst(step) : absl::OkStatus();
}

//   sum of the matched keys
void Matching::SendSumIfServer(std::string* step) {
  step_.emplace<SumStep>();
  if (range_.options.is_client) return;
  std::string body;
  ByteWriter out(&body);
  SumOfMatched().Write(&out);
  range_.Append(Part::kSum, body, step);
  state_ = State::kReconciled;
}

absl::Status Matching::Receive(std::string_view step) {
  state_ = State::kMyTurn;
  range_.counts.turns++;
  turn_goes_on_ = true;
  absl::Status status;
  const bool read = VisitParts(step, [this, &status](Part part, std::string_view body) {
    if (!status.ok()) return;
    status = ReceivePart(part, body);
    range_.parts++;
  });
  if (!status.ok()) return status;
  if (!read || turn_goes_on_) return Nonsense("half a step");
  return range_.Hold(KeptBytes());
}

absl::Status Matching::ReceivePart(Part part, std::string_view body) {
  const bool after_the_sum = state_ != State::kMyTurn;
  if (after_the_sum || (part == Part::kSum && !range_.options.is_client)) return OutOfTurn(part);
  absl::Status status = range_.HoldForWork(KeptBytes());
  if (!status.ok()) return status;
  turn_goes_on_ = false;
  if (std::holds_alternative<FilterStep>(step_)) return ReceiveFilterOrEnding(part, body);
  if (auto* const sketch = std::get_if<SketchStep>(&step_)) {
    return ReceiveSketchPart(sketch, part, body);
  }
  if (auto* const list = std::get_if<ListStep>(&step_)) {
    status = list->Receive(part, body);
    if (status.ok()) ExpectSum();
    return status;
  }
  if (auto* const symbols = std::get_if<SymbolsStep>(&step_)) {
    status = symbols->Receive(part, body);
    turn_goes_on_ = !symbols->has_symbols();  // after deferred keys
    if (status.ok() && symbols->done()) ExpectSum();
    return status;
  }
  return part == Part::kSum ? ReceiveSum(body) : OutOfTurn(part);
}

absl::Status Matching::ReceiveFilterOrEnding(Part part, std::string_view body) {
  if (part >= Part::kList && part <= Part::kSketch) ending_ = part;
  switch (part) {
    case Part::kFilter:
      return std::get<FilterStep>(step_).Receive(body);
    case Part::kList:
      return step_.emplace<ListStep>(&range_).ReceiveList(body);
    case Part::kKeys:
      return step_.emplace<ListStep>(&range_).ReceiveKeys(body);
    case Part::kSymbols:
      return step_.emplace<SymbolsStep>(&range_).Receive(part, body);
    case Part::kSketch:
      return step_.emplace<SketchStep>(&range_).Receive(part, body);
    case Part::kSum:
      return ReceiveSum(body);
    default:
      return OutOfTurn(part);
  }
}

absl::Status Matching::ReceiveSketchPart(SketchStep* sketch, Part part, std::string_view body) {
  const absl::Status status = sketch->Receive(part, body);
  if (status.ok() && sketch->done()) {
    const SketchOutcome outcome = sketch->outcome();
    step_.emplace<SymbolsStep>(&range_, outcome);
    turn_goes_on_ = true;  // with what was set aside, and symbols
  }
  return status;
}

// In the same step, if the server has the last word now.
void Matching::ExpectSum() {
  step_.emplace<SumStep>();
  turn_goes_on_ = range_.options.is_client;
}

absl::Status Matching::ReceiveSum(std::string_view body) {
  ByteReader in(body);
  SetSum theirs;
  if (!theirs.Read(&in) || !in.Finished()) return Nonsense("a damaged sum");
  if (std::holds_alternative<FilterStep>(step_)) {
    // Said early only by a side that has no candidates left.
    if (theirs.count != 0) return Nonsense("a sum before all is known");
    range_.candidates.Clear();
  }
  state_ = SumOfMatched() == theirs ? State::kReconciled : State::kContradicted;
  return absl::OkStatus();
}

SetSum Matching::SumOfMatched() {
  range_.candidates.ForgetOut();
  SetSum sum;
  for (const Candidate& candidate : range_.candidates.all()) summer_.Add(candidate.hash, &sum);
  return sum;
}

}  // namespace rocksieve::join
