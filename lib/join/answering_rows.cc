// How the answering side sends rows of settled ranges.
#include <algorithm>

#include "join/answering_range.h"
#include "join/rows/interval_text.h"

namespace rocksieve::join {

absl::Status AnsweringSide::On(const Fetch& fetch) {
  if (fetch.range == kAbsentRange) {
    if (absent_ != nullptr || !SendsUnmatched(hello_->operation)) {
      return absl::InvalidArgumentError("the asking side wants rows that are not to be sent");
    }
    absent_ = std::make_unique<AbsentRowsWriter>(source_, fetch.attempt);
    return absl::OkStatus();
  }
  absl::StatusOr<OpenRange*> open = Find(fetch.range);
  if (!open.ok()) return open.status();
  const bool settled = (*open)->equal || ((*open)->matching != nullptr &&
                                          (*open)->matching->state() == Matching::State::kSettled);
  if (!settled || fetch.attempt != (*open)->attempt) {
    return absl::InvalidArgumentError("the asking side wants rows of an open range");
  }
  if (std::find(fetched_.begin(), fetched_.end(), fetch.range) != fetched_.end()) {
    return absl::InvalidArgumentError("the asking side wants the rows of a range twice");
  }
  fetched_.push_back(fetch.range);
  return absl::OkStatus();
}

absl::StatusOr<std::string> AnsweringSide::NextRows() {
  Rows rows;
  rows.range = stream_->range;
  rows.attempt = stream_->open->attempt;
  Row row;
  while (stream_->batch.pending_bytes() < kRowBatchBytes && !stream_->ended) {
    stream_->ended = !stream_->cursor.Next(&row);
    if (!stream_->ended && stream_->Wants(stream_->cursor.ordinal())) stream_->batch.Add(row);
  }
  if (!stream_->cursor.status().ok()) {
    return Naming(stream_->open->interval, stream_->cursor.status());
  }
  stream_->batch.TakeBatch(&rows.batch);
  rows.last = stream_->ended && stream_->batch.pending_bytes() == 0;
  if (rows.last) stream_.reset();
  return Encode(rows);
}

absl::StatusOr<std::string> AnsweringSide::NextAbsentRows() {
  Rows rows;
  const absl::Status status = absent_->Next(&rows);
  if (!status.ok()) return status;
  if (rows.last) absent_.reset();
  return Encode(rows);
}

}  // namespace rocksieve::join
