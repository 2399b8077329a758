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
#include "lib/join/session/messages.h"
#include "lib/join/session/reconciliation.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

// What happened in one range of a join, and in all of them, seen from the client.
struct RangeReport : RangeSummary {
  // Strategies in the order in which they went over the wire, of both sides and all attempts.
  std::vector<Part> parts;
  double bits_per_key = 0;  // of the client's keys, front-coded and compressed: a sample's
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
  uint64_t most_row_bytes = kDefaultMostRowBytes;  // of the other side, key and value
  // Of rows that the other side sends before a range is proven, keys and values: they wait in
  // files.
  uint64_t most_unproven_bytes = UINT64_MAX;
  // The whole key is joined on: no two rows of the other side have the same one, and each has one.
  bool keys_are_unique = false;
  // Not kNone: rows of both sides have the join keys of whole rows, the operation is kSymmetric,
  // and keys_are_unique. Of changed rows, the other side's come without keys, if at all. Of
  // Comparison::kKeys, rows of the server come to the sink with zeros for their digests, and
  // without values.
  Comparison comparison = Comparison::kNone;
  // What the server makes this one keep is taken from it; must outlive the side. Null: no limit.
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

// Rows with a NULL key: those for which the join key expression gives nothing.
//
// They match nothing, as in SQL: WHERE EXISTS (SELECT ... WHERE theirs.key = mine.key) is never
// true where the key is NULL, and NOT EXISTS always is. So
//
//   intersection   has none of either side
//   difference     has those of the server
//   local-only     has those of the client
//   symmetric      has both
//   count          counts both, apart from the keys
//
// They come after all ranges. The server says with its first message how many it has, and their
// keyed sum; they are asked for like the rows of a range, under the number kAbsentRange, and must
// add up to that. If sessions share the key space, the one that has its beginning has these.
inline bool WantsAbsentRows(Operation operation) { return operation != Operation::kIntersection; }

absl::Status SumAbsentRows(Source* source, uint64_t session_salt, SetSum* sum);

// Gives a side's own rows to the sink, unless that is null, and counts them.
absl::Status EmitAbsentRows(Source* source, Sink* sink, uint64_t* rows);

// The server's, message by message.
class AbsentRowsWriter {
 public:
  AbsentRowsWriter(Source* source, uint32_t attempt);
  absl::Status Next(Rows* rows);
  uint32_t attempt() const { return attempt_; }
  uint64_t rows_sent() const { return batch_.rows(); }

 private:
  const std::unique_ptr<Cursor> cursor_;
  const uint32_t attempt_;
  RowBatchWriter batch_;
  bool ended_ = false;  // the cursor
};

// Gives the sink what is received. Errors of the kind kAborted mean that it is not what was said.
class AbsentRowsReader {
 public:
  AbsentRowsReader(const SetSum& expected, uint64_t session_salt, const ResultLimits& limits,
                   Sink* sink);
  absl::Status Receive(std::string_view batch);
  absl::Status Finish() const;
  uint64_t rows() const { return received_.count; }

 private:
  const SetSum expected_;
  const uint64_t salt_;
  const SetSummer summer_;
  const uint64_t most_bytes_;
  Sink* const sink_;
  RowBatchReader reader_;
  SetSum received_;
  uint64_t received_bytes_ = 0;
};

}  // namespace rocksieve::join
