#include "lib/join/session/message_accounting.h"

#include <string_view>

#include "lib/join/matching/turn_parts.h"

namespace rocksieve::join {
namespace {

constexpr size_t kMostMoves = 1000;  // that a report has, whatever comes

}  // namespace

void CountBytes(const Message& message, uint64_t bytes, Traffic* traffic) {
  if (std::holds_alternative<Rows>(message)) {
    traffic->payload += bytes;
  } else if (std::holds_alternative<Filters>(message)) {
    traffic->filters += bytes;
  } else if (const Turn* turn = std::get_if<Turn>(&message)) {
    uint64_t filters = 0;
    VisitParts(turn->message, [&filters](Part part, std::string_view body) {
      if (part == Part::kFilter) filters += body.size();
    });
    traffic->filters += filters;
    traffic->verification += bytes - filters;
  } else {
    traffic->planning += bytes;
  }
}

std::optional<uint64_t> RangeOf(const Message& message) {
  if (const Facts* facts = std::get_if<Facts>(&message)) return facts->range;
  if (const Turn* turn = std::get_if<Turn>(&message)) return turn->range;
  if (const Rows* rows = std::get_if<Rows>(&message)) return rows->range;
  return std::nullopt;
}

void NoteMoves(const Message& message, RangeReport* report) {
  const Turn* turn = std::get_if<Turn>(&message);
  if (turn == nullptr) return;
  VisitParts(turn->message, [report](Part part, std::string_view) {
    if (part > Part::kSketch) return;  // an answer
    const auto move = static_cast<MoveKind>(part);
    // More symbols of the same are no move of their own.
    const bool again = move == MoveKind::kSymbols && !report->moves.empty() &&
                       report->moves.back() == MoveKind::kSymbols;
    if (!again && report->moves.size() < kMostMoves) report->moves.push_back(move);
  });
}

}  // namespace rocksieve::join
