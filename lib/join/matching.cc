#include "join/matching.h"

#include <algorithm>
#include <utility>

#include "format/byte_io.h"
#include "join/matching_messages.h"

namespace rocksieve::join {

Matching::Matching(Candidates candidates, const Options& options, KeyReader* reader)
    : options_(options),
      summer_(options.salt),
      reader_(reader),
      candidates_(std::move(candidates)),
      their_count_(options.their_count),
      common_(options.common),
      their_count_is_exact_(options.their_count_is_exact),
      state_(options.begins ? State::kMyTurn : State::kTheirTurn) {}

uint64_t Matching::MessageSalt() const { return SplitMix64(options_.salt, messages_); }

SetSum Matching::SumOfCandidates() const {
  SetSum sum;
  for (const Candidate& candidate : candidates_) summer_.Add(candidate.hash, &sum);
  return sum;
}

std::vector<uint64_t> Matching::MessageHashes(uint64_t salt) const {
  std::vector<uint64_t> hashes;
  hashes.reserve(candidates_.size());
  for (const Candidate& candidate : candidates_) {
    hashes.push_back(HashForStep(candidate.hash, salt));
  }
  return hashes;
}

void Matching::Keep(const std::vector<uint8_t>& keep) {
  size_t kept = 0;
  for (size_t i = 0; i < candidates_.size(); i++) {
    if (keep[i] != 0) candidates_[kept++] = candidates_[i];
  }
  candidates_.resize(kept);
}

absl::Status Matching::TakeTurn(std::string* message) {
  absl::Status status;
  state_ = State::kTheirTurn;
  switch (expected_) {
    case Expected::kMove: {
      // A list of none settles what has no candidates left, at either side.
      Move move;
      if (candidates_.empty() || (their_count_is_exact_ && their_count_ == 0)) {
        candidates_.clear();
      } else {
        move = CheapestMove(
            {static_cast<double>(candidates_.size()), std::max(1.0, their_count_), common_},
            options_.planner);
      }
      if (move.kind == MoveKind::kFilter) {
        status = SendFilter(move.columns, message);
        break;
      }
      ending_ = move.kind;
      expected_ = Expected::kHits;
      if (move.kind == MoveKind::kKeys) {
        status = SendKeys(message);
      } else if (move.kind == MoveKind::kSymbols) {
        SendSymbols(static_cast<size_t>(SymbolsFor(Differences())), message);
      } else if (move.kind == MoveKind::kSketch) {
        SendSketch(move.cells_log2, message);
      } else {
        SendList(message);
      }
      break;
    }
    case Expected::kHits:
      SendHits(message);
      expected_ = Expected::kVerdict;
      break;
    case Expected::kMarks:
      SendMarks(message);
      break;
    case Expected::kParity:
      message->assign(1, static_cast<char>(kParityMessage));
      message->append(parity_);
      expected_ = Expected::kMarks;
      break;
    case Expected::kSymbols:
      SendSymbols(static_cast<size_t>(SymbolsFor(left_by_sketch_)), message);
      break;
    case Expected::kDifference:
      SendDifference(message);
      break;
    case Expected::kMoreSymbols:
      SendSymbols(cells_.size() + symbols_wanted_, message);
      break;
    case Expected::kVerdict:
      SendVerdict(message);
      break;
  }
  messages_++;
  return status;
}

absl::Status Matching::Receive(std::string_view message) {
  ByteReader in(message);
  const uint8_t kind = in.U8();
  const std::string_view body = in.Rest();
  state_ = State::kMyTurn;
  absl::Status status = Nonsense(absl::StrCat("a message of the kind ", kind, " out of turn"));
  if (expected_ == Expected::kMove) {
    if (kind == static_cast<uint8_t>(MoveKind::kFilter)) status = ReceiveFilter(body);
    if (kind == static_cast<uint8_t>(MoveKind::kList)) status = ReceiveList(body);
    if (kind == static_cast<uint8_t>(MoveKind::kKeys)) status = ReceiveKeys(body);
    if (kind == static_cast<uint8_t>(MoveKind::kSymbols)) status = ReceiveSymbols(body);
    if (kind == static_cast<uint8_t>(MoveKind::kSketch)) status = ReceiveSketch(body);
  } else if (expected_ == Expected::kMarks && kind == kMoreParityMessage) {
    status = ReceiveParityRequest(body);
  } else if (expected_ == Expected::kMarks && kind == kMarksMessage) {
    status = ReceiveMarks(body);
  } else if (expected_ == Expected::kParity && kind == kParityMessage) {
    status = ReceiveParity(body);
  } else if ((expected_ == Expected::kMoreSymbols || expected_ == Expected::kSymbols) &&
             kind == static_cast<uint8_t>(MoveKind::kSymbols)) {
    status = ReceiveSymbols(body);
  } else if (expected_ == Expected::kDifference && kind == kMoreSymbolsMessage) {
    status = ReceiveMore(body);
  } else if (expected_ == Expected::kDifference && kind == kDifferenceMessage) {
    status = ReceiveDifference(body);
  } else if (expected_ == Expected::kHits && kind == kHitsMessage) {
    status = ReceiveHits(body);
  } else if (expected_ == Expected::kVerdict && kind == kVerdictMessage) {
    status = ReceiveVerdict(body);
  }
  messages_++;
  return status;
}

double Matching::Differences() const {
  const auto mine = static_cast<double>(candidates_.size());
  return mine + their_count_ - 2 * std::min({common_, mine, their_count_});
}

//   sum of the matched keys
void Matching::SendVerdict(std::string* message) {
  const SetSum sum = SumOfCandidates();
  ByteWriter out(message);
  out.U8(kVerdictMessage);
  sum.Write(&out);
  state_ = sum == their_sum_ ? State::kSettled : State::kContradicted;
}

absl::Status Matching::ReceiveVerdict(std::string_view body) {
  ByteReader in(body);
  if (!their_sum_.Read(&in) || !in.Finished()) return Nonsense("a damaged verdict");
  state_ = SumOfCandidates() == their_sum_ ? State::kSettled : State::kContradicted;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
