#include "lib/join/session/row_stream.h"

#include <utility>

#include "lib/join/rows/interval_text.h"

namespace rocksieve::join {

RowStream::RowStream(Source* source, const Fetch& fetch, KeyInterval interval, MatchedKeys keys,
                     MemoryHold memory, bool matched)
    : fetch_(fetch),
      interval_(std::move(interval)),
      keys_(std::move(keys)),
      memory_(std::move(memory)),
      matched_(matched),
      cursor_(source, interval_),
      sweep_(keys_),
      batch_(/*with_keys=*/!matched) {}

absl::StatusOr<Rows> RowStream::Next() {
  Rows rows;
  rows.range = fetch_.range;
  rows.attempt = fetch_.attempt;
  Row row;
  while (batch_.pending_bytes() < kRowBatchBytes && !ended_) {
    ended_ = !cursor_.Next(&row);
    if (!ended_ && sweep_.IsMatched(cursor_.ordinal()) == matched_) batch_.Add(row);
  }
  if (!cursor_.status().ok()) return Naming(interval_, cursor_.status());
  batch_.TakeBatch(&rows.batch);
  rows.last = ended_ && batch_.pending_bytes() == 0;
  return rows;
}

}  // namespace rocksieve::join
