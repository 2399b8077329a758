// SPDX-License-Identifier: Apache-2.0
// The ranges that the client has opened, at the server: what is known of each, and the rows of
// those that were fetched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/join/session/range_turns.h"
#include "lib/join/session/reconciliation.h"
#include "lib/join/session/session.h"

namespace rocksieve::join {

// A range of a join, as the server sees it: from its opening until its rows are asked for.
//
// Which message of the client may come in which state, and what follows from it:
//
//   state         message              next state
//   (none)        Open                 TooLarge, Reconciling, Reconciled; or none: the filters
//                                      that the client used are withdrawn, or no rows will be
//                                      wanted
//   TooLarge      Open                 as from none: of the same attempt, up to the end that was
//                                      told
//   Reconciling   Step                 Reconciling, Reconciled, or none as above
//                 Fetch, same attempt  Sending, if values are compared and this side has said a sum
//                 Open, next attempt   as from none: the client gave the attempt up
//   Reconciled    Fetch, same attempt  Sending
//                 Open, next attempt   as from none: the client's sum differs
//   Sending       Open, next attempt   as from none; the rows of the old attempt go out all the
//                                      same
//
// Anything else is refused with InvalidArgument, which names the state. Sending is a RowStream. A
// "next" attempt is any later one.
struct ServerRange {
  // Was not kept: the client opens it again, to end where this side's keys begin to be too many.
  struct TooLarge {
    RangeKeys keys;
    bool used_existing = false;  // filters, in the scan
  };
  using Reconciling = std::unique_ptr<Reconciliation>;
  using Reconciled = MatchedKeys;
  using State = std::variant<TooLarge, Reconciling, Reconciled>;

  ServerRange(KeyInterval fences, uint32_t the_attempt, MemoryAccount* account)
      : interval(std::move(fences)), attempt(the_attempt), state(TooLarge()), memory(account) {}

  const char* StateName() const {
    constexpr const char* kNames[] = {"too large", "being reconciled", "reconciled"};
    return kNames[state.index()];
  }

  KeyInterval interval;
  uint32_t attempt;
  State state;
  MemoryHold memory;  // of keys and interval; a Matching has its own
};

// The rows of a reconciled range on their way, from the source.
class RowStream {
 public:
  // `source` must outlive it. `memory`: what interval and keys take. `matched`: the rows of matched
  // keys are wanted, without these; else those of the others, with them.
  RowStream(Source* source, const Fetch& fetch, KeyInterval interval, MatchedKeys keys,
            MemoryHold memory, bool matched, Comparison comparison = Comparison::kNone);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  uint64_t range() const { return fetch_.range; }
  uint32_t attempt() const { return fetch_.attempt; }

  // The next batch. The one that says that it is the last is.
  absl::StatusOr<Rows> Next();
  uint64_t rows_sent() const { return batch_.rows(); }

 private:
  void AddCompared(const Row& row);

  const Fetch fetch_;
  const KeyInterval interval_;
  const MatchedKeys keys_;
  const MemoryHold memory_;
  const bool matched_;
  const Comparison comparison_;
  OrdinalCursor cursor_;
  MatchedSweep sweep_;
  RowBatchWriter batch_;
  bool ended_;  // the cursor; or none of its rows is wanted
  std::string value_;
};

struct ServerSessionOptions {
  // What a range may take: beyond it the client is told to open a smaller one.
  uint64_t most_keys_per_range = uint64_t{1} << 21;
  uint64_t most_message_bytes = UINT64_MAX;  // of those that this side makes
  // Ranges under way at once; a client that opens more is refused.
  size_t most_ranges = 8;
  // Weights are this side's; strategy and round trips those that the client wants.
  PlannerOptions planner;
  ExistingFilterOptions existing;
  // What the client makes this one keep is taken from it; must outlive the side. Null: no limit.
  MemoryAccount* memory = nullptr;
  // Compute for ranges that are under way at once; null: the session's own thread does. Must
  // outlive the session.
  Workers* workers = nullptr;
};

class ServerRanges {
 public:
  // What the hello said, or its answer.
  struct Agreement {
    Operation operation = Operation::kIntersection;
    uint64_t salt = 0;  // of the session
    // Of the existing SST filters that each side has.
    double own_pass_rate = 1, their_pass_rate = 1;
    Comparison comparison = Comparison::kNone;
    uint64_t their_keys = 0;  // about

    bool compares() const { return comparison != Comparison::kNone; }
  };

  // The pointers must outlive it.
  ServerRanges(Source* source, const ServerSessionOptions& options, const Agreement& agreement,
               ExistingFilterExchange* existing, Outbox* outbox)
      : source_(source),
        options_(options),
        agreement_(agreement),
        existing_(existing),
        outbox_(outbox),
        turns_(options.workers, options.memory) {}

  absl::Status Receive(const Open& open);
  absl::Status Receive(Step step);
  // Not of the rows with a NULL key.
  absl::Status Receive(const Fetch& fetch);

  // What other threads have done since.
  absl::Status TakeDone();
  bool computes() const { return !turns_.empty(); }
  void WhenReady(std::function<void()> ready) { turns_.WhenReady(std::move(ready)); }

  // Whether rows were fetched and are not sent yet.
  bool has_rows() const { return !streams_.empty(); }
  // REQUIRES: has_rows().
  absl::StatusOr<Rows> NextRows();
  // Without those with a NULL key.
  uint64_t rows_sent() const { return rows_sent_; }

 private:
  // The state of a range in words, for errors.
  const char* StateOf(uint64_t range) const;
  // Whether the range may be opened now.
  absl::Status CheckOpen(const Open& open) const;
  // How the scan of a range that is opened uses existing SST filters.
  ExistingFilterUse ExistingFilterUseFor(const Open& open) const;
  // The client dropped keys by filters that it must not rely on.
  bool PrunedWrongly(const Open& open, const ExistingFilterUse& existing,
                     const RangeKeys& keys) const;
  // The keys of a range that is opened: those of the scan that found it too large, or of a new one.
  absl::Status ScanFor(const Open& open, const ExistingFilterUse& existing, RangeKeys* keys,
                       MemoryHold* memory);
  // Reconciles an opened range, and says how many keys are common, about, or what the client can
  // estimate it by.
  absl::Status BeginReconciling(const Open& open, bool prunes, RangeKeys keys, ServerRange* range,
                                Facts* facts);
  // Hears, if something was heard, and speaks while it is this side's turn.
  absl::Status Continue(uint64_t number, std::optional<std::string> heard);
  // What is computed of the range at this time.
  absl::Status WaitFor(uint64_t number);
  // Says what was computed, and puts a range away that needs nothing more.
  absl::Status Take(RangeTurns::Done done);
  absl::Status FinishReconciling(ServerRange* range) const;

  Source* const source_;
  const ServerSessionOptions options_;
  const Agreement agreement_;
  ExistingFilterExchange* const existing_;
  Outbox* const outbox_;
  std::map<uint64_t, ServerRange> ranges_;
  std::deque<RowStream> streams_;  // of ranges that were fetched; the first one is under way
  uint64_t rows_sent_ = 0;
  RangeTurns turns_;  // the last one: it uses the ranges
};

}  // namespace rocksieve::join
