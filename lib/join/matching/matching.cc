#include "lib/join/matching/matching.h"

#include <algorithm>
#include <utility>

#include "lib/format/byte_io.h"

namespace rocksieve::join {

Matching::Matching(Candidates candidates, const Options& options, KeyReader* reader)
    : options_(options),
      memory_(options.memory),
      summer_(options.salt),
      reader_(reader),
      candidates_(std::move(candidates)),
      their_count_(options.their_count),
      common_(options.common),
      common_error_(options.common_error),
      their_count_is_exact_(options.their_count_is_exact),
      state_(options.begins ? State::kMyTurn : State::kTheirTurn) {}

void Matching::Append(Part part, std::string_view body, std::string* turn) {
  AppendPart(part, body, turn);
  parts_++;
}

absl::Status Matching::TakeTurn(std::string* turn) {
  absl::Status status = Hold(StepBytes());
  if (!status.ok()) return status;
  state_ = State::kTheirTurn;
  counts_.turns++;
  status = TakePart(turn);
  return status.ok() ? Hold(0) : status;
}

absl::Status Matching::TakePart(std::string* turn) {
  switch (expected_) {
    case Expected::kMove:
      return TakeMove(turn);
    case Expected::kHits:
      SendHits(turn);
      break;
    case Expected::kMarks:
      return SendMarks(turn);
    case Expected::kParity:
      Append(Part::kParity, parity_, turn);
      expected_ = Expected::kMarks;
      break;
    case Expected::kDoubtful:
    case Expected::kSymbols:
      return SendSymbols(static_cast<size_t>(SymbolsForRest(left_by_sketch_.differences())), turn);
    case Expected::kDifference:
      SendDifference(turn);
      break;
    case Expected::kMoreSymbols:
      return SendSymbols(cells_.size() + symbols_wanted_, turn);
    case Expected::kSum:
      SendSum(turn);
      break;
  }
  return absl::OkStatus();
}

absl::Status Matching::TakeMove(std::string* turn) {
  const bool nothing = candidates_.empty() || (their_count_is_exact_ && their_count_ == 0);
  if (nothing) {
    candidates_.clear();
    // That nothing is matched needs no answer if the answering side says it; else a list of none.
    if (!options_.asks) {
      SendSum(turn);
    } else {
      SendList(turn);
    }
    return absl::OkStatus();
  }
  const int filters = static_cast<int>(counts_.filters_sent + counts_.filters_received);
  const Move move = CheapestMove(standing(), TurnsLeft(), filters, options_.planner);
  if (move.filter_width > 0) {
    const absl::Status status = SendFilter(move, turn);
    if (!status.ok() || !move.ending) return status;
  }
  switch (*move.ending) {
    case MoveKind::kKeys:
      return SendKeys(turn);
    case MoveKind::kSymbols: {
      ending_ = MoveKind::kSymbols;
      const Standing now = standing();
      return SendSymbols(
          static_cast<size_t>(SymbolsFor(now.differences() + 2.6 * now.common_error)), turn);
    }
    case MoveKind::kSketch:
      ending_ = MoveKind::kSketch;
      return SendSketch(move.cells_log2, turn);
    default:
      SendList(turn);
  }
  return absl::OkStatus();
}

absl::Status Matching::Receive(std::string_view turn) {
  state_ = State::kMyTurn;
  counts_.turns++;
  turn_goes_on_ = true;
  absl::Status status;
  const bool read = VisitParts(turn, [this, &status](Part part, std::string_view body) {
    if (!status.ok()) return;
    status = ReceivePart(part, body);
    parts_++;
  });
  if (!status.ok()) return status;
  if (!read || turn_goes_on_) return Nonsense("half a turn");
  return Hold(0);
}

// Each Receive..() says whether the turn must go on.
absl::Status Matching::ReceivePart(Part part, std::string_view body) {
  const absl::Status out_of_turn =
      Nonsense(absl::StrCat("a part of the kind ", static_cast<int>(part), " out of turn"));
  if (state_ != State::kMyTurn) return out_of_turn;  // something after the sum
  const bool went_on = std::exchange(turn_goes_on_, false);
  if (part == Part::kSum && !options_.asks) return out_of_turn;
  const absl::Status room = Hold(StepBytes());
  if (!room.ok()) return room;
  switch (expected_) {
    case Expected::kMove:
      if (part == Part::kFilter) return ReceiveFilter(body);
      if (part == Part::kList) return ReceiveList(body);
      if (part == Part::kKeys) return ReceiveKeys(body);
      if (part == Part::kSymbols) return ReceiveSymbols(body);
      if (part == Part::kSketch) return ReceiveSketch(body);
      if (part == Part::kSum) return ReceiveSum(body);
      break;
    case Expected::kHits:
      if (part == Part::kHits && sent_list_) return ReceiveHits(body);
      break;
    case Expected::kMarks:
      if (part == Part::kMoreParity && sent_sketch_) return ReceiveParityRequest(body);
      if (part == Part::kMarks && sent_sketch_) return ReceiveMarks(body);
      break;
    case Expected::kParity:
      if (part == Part::kParity && sketch_decoder_ != nullptr) return ReceiveParity(body);
      break;
    case Expected::kDoubtful:
      if (part == Part::kDoubtful && went_on) return ReceiveDoubtful(body);
      break;
    case Expected::kSymbols:
      if (part == Part::kSymbols && !SymbolsAreMine()) return ReceiveSymbols(body);
      // A second layer, right after the marks of the first one.
      if (part == Part::kSketch && layer_ == 1 && sent_sketch_) return ReceiveSketch(body);
      break;
    case Expected::kMoreSymbols:
      if (part == Part::kSymbols && decoder_ != nullptr) return ReceiveSymbols(body);
      break;
    case Expected::kDifference:
      if (part == Part::kMoreSymbols && encoder_ != nullptr) return ReceiveMore(body);
      if (part == Part::kDifference && encoder_ != nullptr) return ReceiveDifference(body);
      break;
    case Expected::kSum:
      if (part == Part::kSum) return ReceiveSum(body);
      break;
  }
  return out_of_turn;
}

//   sum of the matched keys
void Matching::SendSum(std::string* turn) {
  std::string body;
  ByteWriter out(&body);
  SumOfCandidates().Write(&out);
  Append(Part::kSum, body, turn);
  state_ = State::kSettled;
}

void Matching::SendSumIfAnswering(std::string* turn) {
  if (options_.asks) {
    expected_ = Expected::kSum;
  } else {
    SendSum(turn);
  }
}

absl::Status Matching::ReceiveSum(std::string_view body) {
  ByteReader in(body);
  SetSum theirs;
  if (!theirs.Read(&in) || !in.Finished()) return Nonsense("a damaged sum");
  if (expected_ == Expected::kMove) {
    // Said early only by a side that has no candidates left.
    if (theirs.count != 0) return Nonsense("a sum before all is known");
    candidates_.clear();
  }
  state_ = SumOfCandidates() == theirs ? State::kSettled : State::kContradicted;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
