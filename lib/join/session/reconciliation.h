// SPDX-License-Identifier: Apache-2.0
// How a side begins to reconcile a range that both sides have opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/join/matching/matching.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_keys.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// What a side knows of an opened range: as Open and Facts say it, and of its own keys.
struct OpenedRange {
  uint64_t session_salt = 0, range = 0;
  uint32_t attempt = 0;
  bool is_client = false;  // this side is, or the server
  bool begins = false;     // this side does, or the other one
  SetSum theirs;           // of all keys of the other side
  Pruning pruning;         // of the other side's keys, by this side's existing SST filters
  bool prunes = false;     // this side's keys were, by those of the other side
  // Keys that are not there and pass: the filters of this side, and of the other one.
  double own_pass_rate = 1, their_pass_rate = 1;
  size_t counters = 0;           // of the estimator that was sent; 0 if none was
  std::optional<double> common;  // keys of both sides, if they were estimated
  uint64_t most_message_bytes = UINT64_MAX;
  MemoryAccount* memory = nullptr;
  FilterMaker* filters = nullptr;

  // Keys of the other side that may be matched.
  uint64_t their_candidates() const { return pruning.filters ? pruning.candidates : theirs.count; }
};

// The same on both sides, but for what each knows of its own keys, and wants. `wanted`: of the
// session.
MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys,
                           const PlannerOptions& wanted);

// A Matching, and what it needs. Made of an interval's candidates.
struct Reconciliation {
  Reconciliation(Source* source, const KeyInterval& interval, Candidates candidates,
                 const MatchingOptions& options)
      : reader(source, interval), matching(std::move(candidates), options, &reader) {}

  SourceKeyReader reader;
  Matching matching;
};

}  // namespace rocksieve::join
