#include "join/message_accounting.h"

#include <algorithm>
#include <iterator>

namespace rocksieve::join {
namespace {

std::optional<MoveKind> MoveOf(const Message& message) {
  const Turn* turn = std::get_if<Turn>(&message);
  if (turn == nullptr || turn->message.empty()) return std::nullopt;
  const auto kind = static_cast<MoveKind>(turn->message[0]);
  const bool is_move = std::find(std::begin(kAllMoves), std::end(kAllMoves), kind) !=
                       std::end(kAllMoves);
  return is_move ? std::optional(kind) : std::nullopt;
}

}  // namespace

uint64_t* PurposeOf(const Message& message, Traffic* traffic) {
  if (std::holds_alternative<Rows>(message)) return &traffic->payload;
  if (!std::holds_alternative<Turn>(message)) return &traffic->planning;
  return MoveOf(message) == MoveKind::kFilter ? &traffic->filters : &traffic->verification;
}

std::optional<uint64_t> RangeOf(const Message& message) {
  if (const Facts* facts = std::get_if<Facts>(&message)) return facts->range;
  if (const Turn* turn = std::get_if<Turn>(&message)) return turn->range;
  if (const Rows* rows = std::get_if<Rows>(&message)) return rows->range;
  return std::nullopt;
}

void NoteMove(const Message& message, RangeReport* report) {
  const std::optional<MoveKind> move = MoveOf(message);
  // More symbols of the same are no move of their own.
  const bool again = move == MoveKind::kSymbols && !report->moves.empty() &&
                     report->moves.back() == MoveKind::kSymbols;
  if (move && !again) report->moves.push_back(*move);
}

}  // namespace rocksieve::join
