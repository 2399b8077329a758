// SPDX-License-Identifier: Apache-2.0
// The ranges of a join, as the client sees them: which are under way, and what is left.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_result.h"
#include "lib/join/session/range_turns.h"
#include "lib/join/session/reconciliation.h"
#include "lib/join/session/session.h"
#include "lib/join/session/shared_ranges.h"

namespace rocksieve::join {

// A range from its opening until its result is with the sink.
//
// Which message of the server may come in which phase, and what follows from it:
//
//   phase         message               next phase
//   ToOpen                              Opening, once there is a place for it
//   Opening       Facts, same attempt   Reconciling; Reconciled, if the sides are equal; ToOpen, if
//                                       the range is cut, or filters are withdrawn
//   Reconciling   Step                  Reconciling, Reconciled; ToOpen with the next attempt,
//                                       if the sums contradict each other
//   Reconciled                          Fetching, if rows are wanted; else the range is done
//   Fetching      Rows, same attempt    Fetching; done after the last ones; ToOpen with the next
//                                       attempt, if they contradict what was reconciled
//
// Anything else is refused with InvalidArgument, apart from what was on its way when an attempt was
// given up: rows of an earlier attempt, and one step (ignores_step).
struct ClientRange {
  struct ToOpen {};
  struct Opening {
    bool server_begins = true;
  };
  using Reconciling = std::unique_ptr<Reconciliation>;
  struct Reconciled {
    MatchedKeys matched;  // given away when rows are fetched
    bool equal = false;   // all of either side were
    uint64_t matched_keys = 0;
    Matching::Counts counts;
  };
  struct Fetching {
    Reconciled reconciled;
    std::unique_ptr<RangeResult> result;
  };
  using Phase = std::variant<ToOpen, Opening, Reconciling, Reconciled, Fetching>;

  ClientRange(uint64_t the_number, KeyInterval part, MemoryAccount* account)
      : number(the_number), interval(std::move(part)), memory(account), keys_memory(account) {}

  template <typename T>
  bool Is() const {
    return std::holds_alternative<T>(phase);
  }

  const uint64_t number;
  KeyInterval interval;
  uint32_t attempt = 0;
  uint32_t attempts_without_fault = 0;  // given up since existing SST filters were withdrawn
  uint32_t cuts = 0;                    // by the server, one after another
  bool pruned = false;                  // its candidates, by existing SST filters
  uint64_t pruned_keys = 0;             // by these
  uint64_t ignored_bytes = 0;           // of rows of attempts that were given up
  bool ignores_step = false;            // the next one, which belongs to such an attempt
  Phase phase;
  RangeKeys keys;  // the candidates are given away when they are reconciled
  SetSum theirs;
  RangeReport report;
  std::optional<std::chrono::steady_clock::time_point> opened;  // for the first time
  FilterMaker filters;                   // shared with other sessions; may be empty
  bool asked = false;                    // since something was heard
  MemoryHold memory;                     // of the interval's keys
  MemoryHold keys_memory;                // of candidates, then of matched ones
};

// The ranges in key order, and the part of the key space for which there are none yet.
class ClientRanges {
 public:
  // `parts` of the interval, apart from each other and rising; none: all of it. `created`: counts
  // the ranges. Both pointers must outlive it.
  ClientRanges(const KeyInterval& interval, const std::vector<KeyInterval>& parts,
               uint64_t* created, MemoryAccount* account);

  bool empty() const { return ranges_.empty(); }
  auto begin() { return ranges_.begin(); }
  auto end() { return ranges_.end(); }
  ClientRange& front() { return ranges_.front(); }
  void PopFront() { ranges_.pop_front(); }
  // InvalidArgument if there is none: the server is to blame.
  absl::StatusOr<ClientRange*> Find(uint64_t number);

  const std::optional<KeyInterval>& rest() const { return rest_; }
  // Makes a range of the beginning of the rest, up to `end`. REQUIRES: there is a rest, and it has
  // `end`, or ends with it.
  absl::StatusOr<ClientRange*> AddNext(std::optional<std::string> end);
  // The range ends below `next_key`: what is cut off is the rest again. REQUIRES: it is the last
  // one, and new.
  void GiveBack(ClientRange* range, const std::string& next_key);
  // Likewise, but what is cut off is a range of its own, which comes next.
  absl::Status CutShort(ClientRange* range, const std::string& next_key);

  // From the first range on; nothing if there is no range and no rest.
  std::optional<KeyInterval> Unfinished() const;

 private:
  using List = std::list<ClientRange>;

  void TakeNextPart();
  absl::StatusOr<ClientRange*> Add(List::iterator before, uint64_t number, KeyInterval interval);

  uint64_t* const created_;
  MemoryAccount* const account_;
  const std::optional<std::string> end_;  // of the key space
  std::optional<KeyInterval> rest_;       // of the part in which the next range lies
  std::deque<KeyInterval> parts_;         // that come after it
  List ranges_;
  // Numbers of ranges as they come are even, those of what was cut off of a range odd: so sessions
  // that share ranges have the same numbers, and salts, for them.
  uint64_t next_range_ = 0, next_cut_range_ = 1;
};

// What the parts of a client share, and how they speak.

struct ClientSessionOptions : ResultLimits {
  Operation operation = Operation::kIntersection;
  KeyInterval interval;  // the part of the key space to join
  // Only these parts of it, apart from each other and rising; none: all of it.
  std::vector<KeyInterval> parts;
  // Whether rows with a NULL key belong to it: of sessions that share the key space, one has them.
  bool absent_rows = true;
  // Fresh and random for each session: whoever knows it can choose keys whose hashes collide.
  uint64_t salt = 0;
  // Of a range, about 80 bytes per key are kept in memory, times the ranges under way. Larger
  // ranges cost less per key, above all where few keys differ, and fewer round trips in all.
  uint64_t keys_per_range = uint64_t{1} << 20;
  size_t ranges_ahead = 2;
  int most_attempts = 3;                     // per range, until the join fails
  uint64_t most_message_bytes = UINT64_MAX;  // of those that this side makes
  // Whether rows of this side with a NULL key are given to the sink and counted. Whoever joins with
  // several sides at once does so himself, and once: EmitAbsentRows().
  bool own_absent_rows = true;
  PlannerOptions planner;
  // Of messages, rows apart; 0: no limit. A join that would take more, by the plan of a range,
  // fails before it does.
  uint64_t most_bytes = 0;
  ExistingFilterOptions existing;
  // With the other sessions of a join with several shards: then its salt is that of `salt`. May be
  // null.
  SharedRanges::Member* shared = nullptr;
  // Compute for ranges that are under way at once; null: the session's own thread does. Must
  // outlive the session.
  Workers* workers = nullptr;
  // Told of each range when its result is proven and with the sink; may be empty.
  std::function<void(const RangeReport&)> range_done;
};

struct ClientState {
  // The pointers must outlive it.
  ClientState(Source* the_source, Sink* the_sink, const ClientSessionOptions& the_options);

  // `range`: that which the message is about, if any.
  absl::Status Send(const Message& message, ClientRange* range = nullptr);
  // Counts a message of the other side, and finds the range that it is about, if any.
  ClientRange* Heard(const Message& message, uint64_t bytes);
  // Another attempt, if there is one left.
  absl::Status Repeat(ClientRange* range, const absl::Status& why);
  // Another attempt, since existing SST filters turned out not to be what they should.
  absl::Status RepeatWithoutExisting(ClientRange* range);
  bool compares() const { return options.comparison != Comparison::kNone; }
  uint64_t SaltOf(const ClientRange& range) const {
    return RangeSalt(options.salt, range.number, range.attempt);
  }

  Source* const source;
  Sink* const sink;
  const ClientSessionOptions options;
  HelloAnswer answer;  // once it is there
  ExistingFilterExchange existing;
  ExistingFilterOffer offer;  // of this side's
  Statistics statistics;
  ClientRanges ranges;
  Outbox outbox;
  RangeTurns turns;  // the last one: it uses the ranges
};

}  // namespace rocksieve::join
