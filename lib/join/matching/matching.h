// SPDX-License-Identifier: Apache-2.0
// One side's part in reconciling a range: finding which of its keys both sides have.
//
// Both sides begin with candidates, all of their keys in the range, and take turns until each knows
// which of its keys are matched, that is, are among the other's too. What a side sends in its turn
// is a step, of one part or more:
//
//   filter*         to and fro, each may be followed by
//   list | keys  -> match bitmap     and that is all; or by
//   symbols      -> (more symbols ->)* difference
//   sketch       -> (more parity -> parity ->)* empty-cell bitmap -> symbols -> difference
//                   or: empty-cell bitmap, sketch
//                       -> empty-cell bitmap, deferred keys, symbols -> difference
//   ... the server: sum
//
// Each line is a class (FilterStep, ListStep, SymbolsStep, SketchStep), which knows the parts that
// may come in it; which one comes next is decided here. Any other part is refused.
//
// No part loses a match: filters have no false negatives, and everything else that is dropped is
// dropped by both. Matches that are none (two keys with the same hash) are found at the end: the
// server sums its matched keys, from its own keys, as soon as it knows them, and the client
// compares that with the sum of its own. If they differ, the range is contradicted, and has to be
// reconciled again under another salt.
//
// The parts are described in docs/protocol.md. Whatever arrives, nothing outside of it is read, and
// no more memory is taken than a few times the message and the candidates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <absl/status/status.h>

#include "lib/join/matching/endings.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/matching/sketch_step.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

class Matching {
 public:
  using State = MatchingState;
  using Options = MatchingOptions;
  using Counts = MatchingCounts;

  // `reader` is for the part kKeys only.
  Matching(Candidates candidates, const Options& options, KeyReader reader);
  Matching(const Matching&) = delete;
  Matching& operator=(const Matching&) = delete;

  State state() const { return state_; }

  // Appends this side's next step. REQUIRES: kMyTurn.
  absl::Status NextStep(std::string* step);

  // Takes the other side's step. Fails, and is of no use any more, if it makes no sense at this
  // point: the other side is broken or hostile. REQUIRES: kTheirTurn.
  absl::Status Receive(std::string_view step);

  // The matched keys, by rising ordinal; before anything was said, all. REQUIRES: kReconciled, or
  // nothing was said yet.
  const Candidates& matched() const { return range_.candidates.all(); }
  // The same, when nothing more of this is needed.
  Candidates TakeMatched() { return range_.candidates.Take(); }

  const Counts& counts() const { return range_.counts; }
  // The part with which the range was ended, by either side.
  Part ending() const { return ending_; }

 private:
  // All steps are done: the server says its sum.
  struct SumStep {
    uint64_t KeptBytes() const { return 0; }
  };
  using AnyStep = std::variant<FilterStep, ListStep, SketchStep, SymbolsStep, SumStep>;

  uint64_t KeptBytes() const;

  absl::Status SendPart(std::string* step);
  absl::Status SendPlanned(std::string* step);
  absl::Status SendSketchPart(SketchStep* sketch, std::string* step);
  // After the last that the client needs to tell, or be told.
  void SendSumIfServer(std::string* step);

  absl::Status ReceivePart(Part part, std::string_view body);
  absl::Status ReceiveFilterOrEnding(Part part, std::string_view body);
  absl::Status ReceiveSketchPart(SketchStep* sketch, Part part, std::string_view body);
  void ExpectSum();
  absl::Status ReceiveSum(std::string_view body);
  // Of those that are matched, when all is known.
  SetSum SumOfMatched();

  const SetSummer summer_;
  const KeyReader reader_;
  MatchingRange range_;
  AnyStep step_;
  State state_;
  bool turn_goes_on_ = false;  // the other side's, after the part that was read
  Part ending_ = Part::kList;
};

}  // namespace rocksieve::join
