// SPDX-License-Identifier: Apache-2.0
// Makes the result of a reconciled range from this side's rows and what the other side sends, and
// proves that nothing is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <rocksieve/join/report.h>

#include "lib/join/existing/existing_filters.h"
#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/reconciliation.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// What happened in one range of a join, and in all of them, seen from the client.

struct RangeReport {
  KeyInterval interval;
  // Strategies in the order in which they went over the wire, of both sides and all attempts.
  std::vector<Part> parts;
  bool equal = false;  // both sides have the same keys: nothing had to be reconciled
  uint32_t repeats = 0;

  uint64_t client_keys = 0, server_keys = 0, matched_keys = 0;
  uint64_t rows_received = 0;
  // Of the last attempt. Pruned: keys of the client that filters of the other one dropped. False
  // positives: keys that passed all filters of the other side, which lacks them; those of the
  // server as far as it told how many it had left.
  uint64_t keys_pruned = 0;
  uint64_t client_false_positives = 0, server_false_positives = 0;

  WireBytes sent, received;  // messages about this range
  uint64_t round_trips = 0;  // times that an answer had to be waited for
  double milliseconds = 0;   // from its opening until the result was proven
  double bits_per_key = 0;   // of the client's keys, front-coded and compressed: a sample's
};

// What a session knows of a server's report, and more of itself.
struct Statistics : ServerReport {
  // Rows with a NULL key, where the operation counts or gives them.
  uint64_t local_absent_rows = 0, remote_absent_rows = 0;
  // Of the range that took the most, beside its opening.
  uint64_t most_range_round_trips = 0;
  ExistingFilterChoice existing_choice = ExistingFilterChoice::kNotThere;
};

// "filter filter sketch"; "equal" if nothing had to be reconciled.
std::string PartsOf(const RangeReport& report);

// Bytes on the wire, rows apart, if the side with fewer keys sent all of them, front-coded and
// compressed.
double ShippedKeysBytes(const RangeReport& report);

// Likewise for the Bloom join of the textbooks: a filter with 10 bits for each key of the side that
// has fewer, answered with the keys of the other side that pass.
double TextbookBloomJoinBytes(const RangeReport& report);

// For whoever asked for the join; `address`: of the server.
RangeSummary SummaryOf(const RangeReport& report, const std::string& address);

// As the tally of several sessions.
void AddStatistics(const Statistics& more, Statistics* sum);
// What a range adds to the tally of its session when it is done.
void AddRange(const RangeReport& range, Statistics* sum);

struct ReconciledRange {
  KeyInterval interval;
  uint64_t salt = 0;
  MatchedKeys matched;
  SetSum mine, theirs;  // of all keys in the range
};

struct ResultLimits {
  uint64_t most_row_bytes = kDefaultMostRowBytes;  // of a row of the other side, key and value
  uint64_t most_bytes = UINT64_MAX;                // of all of them
  bool keys_are_unique = false;  // of the other side: a second row of a key is a lie
  // Of whole rows: of changed ones, the other side's come without keys, if at all.
  Comparison comparison = Comparison::kNone;
  MemoryAccount* memory = nullptr;
};

// Errors of the kind kAborted mean that the other side's rows contradict what was reconciled.
class RangeResult {
 public:
  // The pointers must outlive it.
  RangeResult(Operation operation, ReconciledRange range, const ResultLimits& limits,
              Source* source, Sink* sink);

  // Takes a batch of the other side's rows.
  absl::Status Receive(std::string_view batch);

  // After the last batch.
  absl::Status Finish();

  uint64_t rows_received() const { return rows_received_; }

 private:
  // Whether one more row of the other side may come.
  absl::Status CheckRow(const Row& row, bool new_key);
  // Of this side's rows.
  absl::Status EmitLocalRowsBefore(const std::string* key);
  absl::Status TakeMatchedRow(const Row& row, bool new_key);
  absl::Status TakeUnmatchedRow(const Row& row, bool new_key);
  absl::Status TakeChangedRow(const Row& row);
  // A row of the other side, as it came, with this key without a digest.
  absl::Status GiveTheirRow(std::string_view key, std::string_view value);
  bool NextOwnRow();
  // Of this side's row, which is not among the equal ones.
  absl::Status GiveOwnRow();
  bool compares() const { return limits_.comparison != Comparison::kNone; }

  const Operation operation_;
  const ReconciledRange range_;
  const ResultLimits limits_;
  Sink* const sink_;
  const SetSummer summer_;
  RowBatchReader reader_;
  OrdinalCursor own_;
  MatchedSweep matched_;
  Row own_row_;
  bool has_own_row_ = false, own_started_ = false;
  uint64_t keys_received_ = 0;
  SetSum received_;
  std::string last_key_, whole_key_;
  uint64_t rows_received_ = 0, bytes_received_ = 0;
};

}  // namespace rocksieve::join
