// A range of a join, as the asking side sees it, from its opening until its result is with the
// sink.
//
// Which message of the answering side may come in which phase, and what follows from it:
//
//   phase         message               next phase
//   ToOpen                              Opening, once there is a place for it
//   Opening       Facts, same attempt   Reconciling; Settled, if the sides are equal; ToOpen, if
//   the
//                                       range is cut, or filters are withdrawn
//   Reconciling   Turn                  Reconciling, Settled; ToOpen with the next attempt, if the
//                                       sums contradict each other
//   Settled                             Fetching, if rows are wanted; else the range is done
//   Fetching      Rows, same attempt    Fetching; done after the last ones; ToOpen with the next
//                                       attempt, if they contradict what was settled
//
// Anything else is refused with InvalidArgument, apart from what was on its way when an attempt was
// given up: rows of an earlier attempt, and one turn (ignores_turn).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>

#include "lib/join/session/asking_side.h"
#include "lib/join/session/key_reader.h"

namespace rocksieve::join {

struct AskingSide::Task {
  struct ToOpen {};
  struct Opening {};
  struct Reconciling {
    std::unique_ptr<SourceKeyReader> reader;
    std::unique_ptr<Matching> matching;
  };
  struct Settled {
    bool equal = false;  // every key of either side is matched
    Candidates matched;  // else those of this side that are; given away when rows are fetched
    uint64_t matched_keys = 0;
    Matching::Counts counts;
  };
  struct Fetching {
    Settled settled;
    std::unique_ptr<RangeResult> result;
  };
  using Phase = std::variant<ToOpen, Opening, Reconciling, Settled, Fetching>;

  Task(uint64_t number, KeyInterval part, MemoryAccount* account)
      : range(number), interval(std::move(part)), memory(account), keys_memory(account) {}

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(phase);
  }
  bool equal() const {
    const auto* settled = std::get_if<Settled>(&phase);
    const auto* fetching = std::get_if<Fetching>(&phase);
    return settled != nullptr ? settled->equal : fetching != nullptr && fetching->settled.equal;
  }

  const uint64_t range;
  KeyInterval interval;
  uint32_t attempt = 0;
  uint32_t attempts_without_fault = 0;  // given up since ready filters were withdrawn
  uint32_t cuts = 0;                    // by the answering side, one after another
  bool answering_side_begins = true;
  bool pruned = false;         // its candidates, by ready filters
  uint64_t pruned_keys = 0;    // by these
  uint64_t ignored_bytes = 0;  // of rows of attempts that were given up
  bool ignores_turn = false;   // the next one, which belongs to an attempt that was given up
  Phase phase;
  RangeKeys keys;  // the candidates are given away when matching begins
  SetSum theirs;
  RangeReport report;
  std::chrono::steady_clock::time_point opened;
  bool scanned = false;                  // at least once
  std::shared_ptr<FilterMaker> filters;  // shared with other sessions; may be null
  bool asked = false;                    // since something was heard
  MemoryHold memory;                     // of the interval's keys
  MemoryHold keys_memory;                // of candidates, then of matched ones
};

}  // namespace rocksieve::join
