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
#include <string_view>

#include <rocksieve/filter_spec.h>

#include "lib/join/matching/cost_model.h"
#include "lib/join/matching/parts.h"
#include "lib/join/matching/strategy.h"

namespace rocksieve::join {

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
