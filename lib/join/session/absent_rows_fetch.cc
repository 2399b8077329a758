#include "lib/join/session/absent_rows_fetch.h"

namespace rocksieve::join {

absl::StatusOr<bool> AbsentRowsFetch::Advance() {
  const ClientSessionOptions& options = context_->options;
  const SetSum& theirs = context_->answer.absent;
  if (reader_ != nullptr) return false;
  if (!options.absent_rows || !WantsAbsentRows(options.operation)) return true;
  if (SendsUnmatched(options.operation) && theirs.count > 0 && !received_) {
    reader_ = std::make_unique<AbsentRowsReader>(theirs, options.salt, options.most_row_bytes,
                                                 context_->sink, options.memory);
    const absl::Status sent = context_->Send(Fetch{kAbsentRange, attempt_});
    if (!sent.ok()) return sent;
    return false;
  }
  const absl::Status status = GiveOwnRows();
  if (!status.ok()) return status;
  return true;
}

absl::Status AbsentRowsFetch::GiveOwnRows() {
  const ClientSessionOptions& options = context_->options;
  Statistics& statistics = context_->statistics;
  statistics.server_absent_rows = context_->answer.absent.count;
  Sink* const sink = EmitsLocalRows(options.operation) ? context_->sink : nullptr;
  absl::Status status;
  if (options.own_absent_rows) {
    status = EmitAbsentRows(context_->source, sink, &statistics.client_absent_rows);
  }
  // Those of both sides together, so that a session that breaks has given all of them or none.
  if (status.ok() && (received_ || (statistics.client_absent_rows > 0 && sink != nullptr))) {
    status = context_->sink->Commit();
  }
  return status;
}

absl::Status AbsentRowsFetch::Receive(const Rows& rows) {
  if (rows.attempt < attempt_) return absl::OkStatus();  // of one that was given up
  if (reader_ == nullptr || rows.attempt != attempt_) {
    return absl::InvalidArgumentError("the server sent rows that it was not asked for");
  }
  absl::Status status = reader_->Receive(rows.batch);
  if (status.ok() && !rows.last) return status;
  if (status.ok()) status = reader_->Finish();
  if (!status.ok() && !absl::IsAborted(status)) return status;
  const uint64_t rows_received = reader_->rows();
  reader_.reset();
  if (!status.ok()) return Repeat();
  received_ = true;
  context_->statistics.rows_received += rows_received;
  return absl::OkStatus();
}

absl::Status AbsentRowsFetch::Repeat() {
  context_->statistics.repeated_ranges++;
  attempt_++;
  if (attempt_ >= static_cast<uint32_t>(context_->options.most_attempts)) {
    return absl::DataLossError(
        "the other side's rows with a NULL key do not add up to what it said that it has; it is "
        "broken, or changes its data while it is read. None of them was given");
  }
  return context_->sink->Discard();
}

}  // namespace rocksieve::join
