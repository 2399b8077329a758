// Where the rows of a join that a program asked for go.
#pragma once

#include <absl/status/status.h>
#include <rocksieve/join/join.h>

#include "lib/join/rows/packed_row.h"
#include "lib/join/rows/sink.h"
#include "lib/join/sort/row_spool.h"

namespace rocksieve::join {

// A function, which cannot be told to forget a row: it gets them once they are proven.
class CallbackSink final : public ResultSink {
 public:
  // `on_row` must outlive it, and may be empty.
  explicit CallbackSink(const RowCallback* on_row) : on_row_(on_row) {}

  absl::Status Add(const Row& row, Side from) override { return pending_.Add(row, from); }
  absl::Status Commit() override;
  absl::Status Discard() override { return pending_.Clear(); }
  absl::Status Restart() override;

  // What the function said last: the reason, if it ended the join.
  const rocksdb::Status& status() const { return status_; }

 private:
  const RowCallback* const on_row_;
  RowSpool pending_;
  bool any_given_ = false;
  rocksdb::Status status_;
};

// Gives on whole rows (lib/join/rows/packed_row.h).
class UnpackingResultSink final : public ResultSink {
 public:
  UnpackingResultSink(ResultSink* sink, bool local_is_packed, bool remote_is_packed)
      : sink_(sink), rows_(sink, local_is_packed, remote_is_packed) {}

  absl::Status Add(const Row& row, Side from) override { return rows_.Add(row, from); }
  absl::Status Commit() override { return rows_.Commit(); }
  absl::Status Discard() override { return rows_.Discard(); }
  absl::Status Restart() override { return sink_->Restart(); }

 private:
  ResultSink* const sink_;
  UnpackingSink rows_;
};

}  // namespace rocksieve::join
