#include "lib/join/session/absent_rows.h"

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

}  // namespace rocksieve::join
