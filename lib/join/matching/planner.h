// SPDX-License-Identifier: Apache-2.0
// What the side whose turn it is should send next.
//
// Two sides have candidates for a match in a range of the key space: at first all of their keys.
// They take turns. A filter removes, without error, most of the receiver's candidates that are not
// in the sender's set; one of the other parts ends the range, since both sides know the matched
// keys after it and the answers to it. A step is a filter, or an ending, or a filter and right
// after it an ending. The planner looks ahead over all sequences of some filters and an ending that
// keep to the limit on round trips, by the cost model, anew at each step: on what was measured by
// then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <rocksieve/filter_spec.h>

#include "lib/format/byte_io.h"
#include "lib/join/matching/cost_model.h"

namespace rocksieve::join {

// A step is one part after another: u8 kind, a string with its body (docs/protocol.md).

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

// Ways to reconcile a range. The planner weighs them all and mixes them (kAuto); each can be
// forced, for comparisons. Whatever the strategy, ranges that are equal end with their first
// digests.

enum class Strategy : uint8_t {
  kAuto,
  kKeys,   // the keys themselves, front-coded and compressed
  kList,   // their hashes, Golomb-coded
  kBloom,  // one filter of this family from the side that begins, then a list from the other
  kCuckoo,
  kRibbon,
  kPingPong,    // ribbon filters to and fro, then a list or symbols
  kSketch,      // partitioned PinSketch, and symbols for what it leaves
  kSymbols,     // rateless reconciliation
  kSstFilters,  // kAuto, after filters that one side has already, in its SST files
                // (existing_filters.h)
};

// That reconcile a range: all but kSstFilters.
inline constexpr Strategy kAllStrategies[] = {
    Strategy::kAuto,   Strategy::kKeys,     Strategy::kList,   Strategy::kBloom,  Strategy::kCuckoo,
    Strategy::kRibbon, Strategy::kPingPong, Strategy::kSketch, Strategy::kSymbols};

// "auto", "keys", "list", "bloom", "cuckoo", "ribbon", "ping-pong", "sketch", "symbols",
// "sst-filters".
std::string_view NameOf(Strategy strategy);
// kAuto for "". InvalidArgument names those that there are.
absl::StatusOr<Strategy> StrategyNamed(std::string_view name);
std::string StrategyNames();  // all of them, with commas

// One step, as it is planned.
struct PlannedStep {
  double filter_width = 0;  // log2(1 / rate) of a filter that comes first; 0: none
  Family family = Family::kRibbon;
  std::optional<Part> ending;  // none: the other side goes on
  int cells_log2 = 0;          // of a sketch: 2^cells_log2 cells per key
  // Of this step and all that follows it until the range is reconciled.
  Cost expected;
  double cost = 0;  // the same with round trips and computation, in bits
  int turns = 0;    // this one included

  double bits() const { return expected.bits(); }
};

// Whose turn it is, and how many there may still be, of both sides.
struct TurnLimit {
  // The server says the last word, with its sum of the matched keys.
  bool is_client = true;
  int turns_left = 8;  // this one included
};

struct PlannerOptions {
  Strategy strategy = Strategy::kAuto;
  // Of a range, beyond that with which it is opened. What wrong estimates or an accident need may
  // take two more; forced strategies take what they need.
  int most_round_trips = 4;
  CostWeights weights;
  KeyBits keys;  // of this side; the other's are taken for alike
};

// What was done for a range before the step that is planned, by both sides.
struct Begun {
  int filters = 0;  // that were sent
  Cost spent;       // for them and the scan, as the side whose turn it is sees it; if there are any
};

// REQUIRES: mine > 0 and theirs > 0. Takes 1 to 400 us where computing counts, up to 1.2 ms where
// bytes alone do.
PlannedStep CheapestStep(const RangeEstimate& estimate, const TurnLimit& limit, const Begun& begun,
                         const PlannerOptions& options);

// Turns that a limit on round trips allows, if the client has the first one, or the last one before
// it comes with the opening of the range.
inline int TurnsOf(int round_trips, bool client_begins) {
  return 2 * round_trips + (client_begins ? 0 : 1);
}

// Whether shipping the keys is about as cheap as anything else, as with dense ones: a join by
// other means than this protocol has nothing to lose then.
bool KeysAreAsCheap(const RangeEstimate& estimate, const TurnLimit& limit,
                    const PlannerOptions& options);

}  // namespace rocksieve::join
