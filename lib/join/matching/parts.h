// SPDX-License-Identifier: Apache-2.0
// A step is one part after another: u8 kind, a string with its body (docs/protocol.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/strings/str_cat.h>

#include "lib/format/byte_io.h"

namespace rocksieve::join {

// The first six begin something, the others answer them.
enum class Part : uint8_t {
  kFilter = 1,   // a filter of the sender's candidates
  kList = 2,     // their hashes, Golomb-coded; answered with a bitmap of those that are matched
  kKeys = 3,     // the keys themselves, compressed; answered likewise
  kSymbols = 4,  // rateless set reconciliation; answered with the hashes of what differs
  kSketch = 5,   // a partitioned PinSketch, which names differing cells; symbols for what is left
  kValueSketch = 6,  // bits of the values' digests; answered with the rows that are changed
  kMatchBitmap = 16,
  kSum = 17,
  kDifference = 18,
  kMoreSymbols = 19,
  kEmptyCellBitmap = 20,
  kMoreParity = 21,
  kParity = 22,
  kDeferredKeys = 23,
  kRowSum = 24,
  kValueEstimator = 25,
  kChangedRows = 26,
  kCommonKeys = 27,
};

// Any byte may come as a part.
constexpr bool BeginsSomething(Part part) {
  return part >= Part::kFilter && part <= Part::kValueSketch;
}

// "filter", "list", "keys", "symbols", "sketch", "values"; "answer" for all others.
constexpr std::string_view NameOf(Part part) {
  constexpr std::string_view kNames[] = {"filter", "list", "keys", "symbols", "sketch", "values"};
  return BeginsSomething(part) ? kNames[static_cast<int>(part) - 1] : "answer";
}

inline void AppendPart(Part part, std::string_view body, std::string* step) {
  ByteWriter out(step);
  out.U8(static_cast<uint8_t>(part));
  out.String(body);
}

// Calls visit(part, body) for each; false if the bytes are no parts.
template <typename Visit>
bool VisitParts(std::string_view step, Visit visit) {
  ByteReader in(step);
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
