#include "lib/join/session/row_stream.h"

#include <utility>

#include "lib/join/rows/interval_text.h"

namespace rocksieve::join {

RowStream::RowStream(Source* source, uint64_t range_number, AnsweringRange range, bool matched)
    : number_(range_number),
      range_(std::move(range)),
      settled_(std::get<AnsweringRange::Settled>(range_.state)),
      matched_(matched),
      cursor_(source, range_.interval),
      batch_(/*with_keys=*/!matched) {}

bool RowStream::Wants(uint32_t ordinal) {
  if (settled_.equal) return matched_;
  const Candidates& keys = settled_.matched;
  while (next_ < keys.size() && keys[next_].ordinal < ordinal) next_++;
  return (next_ < keys.size() && keys[next_].ordinal == ordinal) == matched_;
}

absl::StatusOr<Rows> RowStream::Next() {
  Rows rows;
  rows.range = number_;
  rows.attempt = range_.attempt;
  Row row;
  while (batch_.pending_bytes() < kRowBatchBytes && !ended_) {
    ended_ = !cursor_.Next(&row);
    if (!ended_ && Wants(cursor_.ordinal())) batch_.Add(row);
  }
  if (!cursor_.status().ok()) return Naming(range_.interval, cursor_.status());
  batch_.TakeBatch(&rows.batch);
  rows.last = ended_ && batch_.pending_bytes() == 0;
  return rows;
}

}  // namespace rocksieve::join
