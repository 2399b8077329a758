// The rows of a settled range on their way, from the source (the state "Sending" of a range:
// answering_range.h).
#pragma once

#include <cstdint>

#include <absl/status/statusor.h>

#include "lib/join/rows/row_batch.h"
#include "lib/join/session/answering_range.h"
#include "lib/join/session/key_reader.h"
#include "lib/join/session/messages.h"

namespace rocksieve::join {

class RowStream {
 public:
  // `source` must outlive it. REQUIRES: the range is Settled. `matched`: the rows of matched keys
  // are wanted, without these; else those of the others, with them.
  RowStream(Source* source, uint64_t range_number, AnsweringRange range, bool matched);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  uint64_t range() const { return number_; }
  uint32_t attempt() const { return range_.attempt; }

  // The next batch. The one that says that it is the last is.
  absl::StatusOr<Rows> Next();

 private:
  bool Wants(uint32_t ordinal);

  const uint64_t number_;
  const AnsweringRange range_;
  const AnsweringRange::Settled& settled_;
  const bool matched_;
  OrdinalCursor cursor_;
  RowBatchWriter batch_;
  size_t next_ = 0;     // matched key that was not passed yet
  bool ended_ = false;  // the cursor
};

}  // namespace rocksieve::join
