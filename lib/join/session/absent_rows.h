// SPDX-License-Identifier: Apache-2.0
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
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/memory_account.h"
#include "lib/join/operation.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/sketch/set_sum.h"

namespace rocksieve::join {

struct ClientState;

inline bool WantsAbsentRows(Operation operation) { return operation != Operation::kIntersection; }

absl::Status SumAbsentRows(Source* source, uint64_t session_salt, SetSum* sum);

// Gives a side's own rows to the sink, unless that is null, and counts them.
absl::Status EmitAbsentRows(Source* source, Sink* sink, uint64_t* rows);

// The server's, message by message.
class AbsentRowsWriter {
 public:
  AbsentRowsWriter(Source* source, uint32_t attempt);
  absl::Status Next(Rows* rows);
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
  // `memory` may be null.
  AbsentRowsReader(const SetSum& expected, uint64_t session_salt, uint64_t most_row_bytes,
                   Sink* sink, MemoryAccount* memory);
  absl::Status Receive(std::string_view batch);
  absl::Status Finish() const;
  uint64_t rows() const { return received_.count; }

 private:
  const SetSum expected_;
  const uint64_t salt_;
  const SetSummer summer_;
  Sink* const sink_;
  RowBatchReader reader_;
  SetSum received_;
};

// Those of both sides, on their way to the sink of a client.
class AbsentRowsFetch {
 public:
  // `context` must outlive it.
  explicit AbsentRowsFetch(ClientState* context) : context_(context) {}

  // Once all ranges are done. True when there is no more to do.
  absl::StatusOr<bool> Advance();
  absl::Status Receive(const Rows& rows);

 private:
  absl::Status GiveOwnRows();
  absl::Status Repeat();

  ClientState* const context_;
  bool received_ = false;
  uint32_t attempt_ = 0;
  std::unique_ptr<AbsentRowsReader> reader_;  // while they are received
};

}  // namespace rocksieve::join
