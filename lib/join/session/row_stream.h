// The rows of a reconciled range on their way, from the source (the state "Sending" of a range:
// server_ranges.h).
#pragma once

#include <cstdint>

#include <absl/status/statusor.h>

#include "lib/join/memory_account.h"
#include "lib/join/rows/row_batch.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/key_reader.h"
#include "lib/join/session/messages.h"

namespace rocksieve::join {

class RowStream {
 public:
  // `source` must outlive it. `memory`: what interval and keys take. `matched`: the rows of matched
  // keys are wanted, without these; else those of the others, with them.
  RowStream(Source* source, const Fetch& fetch, KeyInterval interval, MatchedKeys keys,
            MemoryHold memory, bool matched);
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  uint64_t range() const { return fetch_.range; }
  uint32_t attempt() const { return fetch_.attempt; }

  // The next batch. The one that says that it is the last is.
  absl::StatusOr<Rows> Next();

 private:
  const Fetch fetch_;
  const KeyInterval interval_;
  const MatchedKeys keys_;
  const MemoryHold memory_;
  const bool matched_;
  OrdinalCursor cursor_;
  MatchedSweep sweep_;
  RowBatchWriter batch_;
  bool ended_ = false;  // the cursor
};

}  // namespace rocksieve::join
