// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/absent_rows.h"

#include "lib/join/session/client_ranges.h"

namespace rocksieve::join {
namespace {

uint64_t SaltOf(uint64_t session_salt) { return RangeSalt(session_salt, kAbsentRange, 0); }

}  // namespace

absl::Status SumAbsentRows(Source* source, uint64_t session_salt, SetSum* sum) {
  *sum = {};
  const std::unique_ptr<Cursor> cursor = source->ScanAbsent();
  if (cursor == nullptr) return absl::OkStatus();
  const uint64_t salt = SaltOf(session_salt);
  const SetSummer summer(salt);
  Row row;
  while (cursor->Next(&row)) summer.Add(HashKey128(row.value, salt), sum);
  return cursor->status();
}

absl::Status EmitAbsentRows(Source* source, Sink* sink, uint64_t* rows) {
  *rows = 0;
  const std::unique_ptr<Cursor> cursor = source->ScanAbsent();
  if (cursor == nullptr) return absl::OkStatus();
  Row row;
  for (; cursor->Next(&row); ++*rows) {
    if (sink == nullptr) continue;
    const absl::Status status = sink->Add(row, Side::kClient);
    if (!status.ok()) return status;
  }
  return cursor->status();
}

AbsentRowsWriter::AbsentRowsWriter(Source* source, uint32_t attempt)
    : cursor_(source->ScanAbsent()), attempt_(attempt), batch_(/*with_keys=*/false) {}

absl::Status AbsentRowsWriter::Next(Rows* rows) {
  rows->range = kAbsentRange;
  rows->attempt = attempt_;
  Row row;
  while (batch_.pending_bytes() < kRowBatchBytes && !ended_) {
    ended_ = cursor_ == nullptr || !cursor_->Next(&row);
    if (!ended_) batch_.Add(row);
  }
  batch_.TakeBatch(&rows->batch);
  rows->last = ended_ && batch_.pending_bytes() == 0;
  return cursor_ == nullptr ? absl::OkStatus() : cursor_->status();
}

AbsentRowsReader::AbsentRowsReader(const SetSum& expected, uint64_t session_salt,
                                   uint64_t most_row_bytes, Sink* sink, MemoryAccount* memory)
    : expected_(expected),
      salt_(SaltOf(session_salt)),
      summer_(salt_),
      sink_(sink),
      reader_(/*with_keys=*/false, most_row_bytes, memory) {}

absl::Status AbsentRowsReader::Receive(std::string_view batch) {
  return reader_.Read(batch, [this](const Row& row, bool) -> absl::Status {
    summer_.Add(HashKey128(row.value, salt_), &received_);
    if (received_.count > expected_.count) {
      return absl::AbortedError("the other side sent more rows than it said that it has");
    }
    return sink_->Add({"", row.value}, Side::kServer);
  });
}

absl::Status AbsentRowsReader::Finish() const {
  if (received_ == expected_ && reader_.between_rows()) return absl::OkStatus();
  return absl::AbortedError("the other side's rows do not add up to what it has");
}

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
  statistics.remote_absent_rows = context_->answer.absent.count;
  Sink* const sink = EmitsLocalRows(options.operation) ? context_->sink : nullptr;
  absl::Status status;
  if (options.own_absent_rows) {
    status = EmitAbsentRows(context_->source, sink, &statistics.local_absent_rows);
  }
  // Those of both sides together, so that a session that breaks has given all of them or none.
  if (status.ok() && (received_ || (statistics.local_absent_rows > 0 && sink != nullptr))) {
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
