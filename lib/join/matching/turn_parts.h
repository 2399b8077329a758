// A turn is one part after another: u8 kind, a string with its body (docs/protocol.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"
#include "lib/join/matching/planner.h"

namespace rocksieve::join {

// A move's kind is its MoveKind; these answer moves.
enum class Part : uint8_t {
  kFilter = static_cast<uint8_t>(MoveKind::kFilter),
  kList = static_cast<uint8_t>(MoveKind::kList),
  kKeys = static_cast<uint8_t>(MoveKind::kKeys),
  kSymbols = static_cast<uint8_t>(MoveKind::kSymbols),
  kSketch = static_cast<uint8_t>(MoveKind::kSketch),
  kMatchBitmap = 16,
  kSum = 17,
  kDifference = 18,
  kMoreSymbols = 19,
  kEmptyCellBitmap = 20,
  kMoreParity = 21,
  kParity = 22,
  kDeferredKeys = 23,
};

inline void AppendPart(Part part, std::string_view body, std::string* turn) {
  ByteWriter out(turn);
  out.U8(static_cast<uint8_t>(part));
  out.String(body);
}

// Calls visit(part, body) for each; false if the bytes are no parts.
template <typename Visit>
bool VisitParts(std::string_view turn, Visit visit) {
  ByteReader in(turn);
  while (in.ok() && in.remaining() > 0) {
    const auto part = static_cast<Part>(in.U8());
    const std::string_view body = in.String();
    if (in.ok()) visit(part, body);
  }
  return in.ok();
}

inline absl::Status Nonsense(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the other side sent ", what));
}

inline absl::Status OutOfTurn(Part part) {
  return Nonsense(absl::StrCat("a part of the kind ", static_cast<int>(part), " out of turn"));
}

}  // namespace rocksieve::join
