// SPDX-License-Identifier: Apache-2.0
// Makes the result of a reconciled range from this side's rows and what the other side sends, and
// proves that nothing is missing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/sink.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/range_keys.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

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
