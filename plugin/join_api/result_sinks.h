// SPDX-License-Identifier: Apache-2.0
// Where the rows of a join that a program asked for go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <absl/status/statusor.h>
#include <rocksieve/join/join.h>

#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/join/text/text_rows.h"
#include "plugin/join/sst_file.h"
#include "support/files.h"

namespace rocksieve::join {

// A function, which cannot be told to forget a row: it gets them once they are proven.
class ProvenRowsSink final : public ResultSink {
 public:
  using Take = std::function<absl::Status(const Row& row, Side from)>;

  // `check` may end the join before rows are given; `restarted` is told when it begins anew.
  explicit ProvenRowsSink(Take take, std::function<absl::Status()> check = nullptr,
                          std::function<void()> restarted = nullptr)
      : take_(std::move(take)), check_(std::move(check)), restarted_(std::move(restarted)) {}

  absl::Status Add(const Row& row, Side from) override { return pending_.Add(row, from); }
  absl::Status Commit() override;
  absl::Status Discard() override { return pending_.Clear(); }
  absl::Status Restart() override;

 private:
  const Take take_;
  const std::function<absl::Status()> check_;
  const std::function<void()> restarted_;
  RowSpool pending_;
  bool any_given_ = false;
};

// Keeps what a program's function says, if it ends a join.
class CallbackStatus {
 public:
  // Cancelled, if it is an error.
  absl::Status Keep(const rocksdb::Status& status);
  // The function's error, if there was one, else that of what it was called by.
  rocksdb::Status Or(const absl::Status& status) const;

 private:
  rocksdb::Status status_;
};

// A file that appears under its name when it is complete, or the standard output, which gets rows
// only when they are proven right.
class ResultFileSink final : public ResultSink {
 public:
  // `sort`: rows do not come in the order of their keys.
  static absl::StatusOr<std::unique_ptr<ResultFileSink>> Open(const ResultFile& file,
                                                              Operation operation, bool sort);
  // Removes what is not complete.
  ~ResultFileSink() override = default;

  absl::Status Add(const Row& row, Side from) override;
  absl::Status Commit() override;
  absl::Status Discard() override;
  absl::Status Restart() override;
  // After the join.
  absl::Status Finish();

  // Of the file, once it is finished.
  uint64_t rows() const { return sst_ != nullptr ? sst_->rows() : committed_; }

 private:
  ResultFileSink(const ResultFile& file, Operation operation, bool sort)
      : file_(file), shows_sides_(operation == Operation::kSymmetric), sort_(sort) {}
  // Looks what the path is.
  absl::Status Examine();
  absl::Status Begin();
  absl::StatusOr<std::unique_ptr<RevocableFile>> OpenText();

  ResultFile file_;
  const bool shows_sides_, sort_;
  // The standard output, a pipe or a device: rows go there as they are proven.
  bool is_stream_ = false;
  std::unique_ptr<PendingFile> pending_;  // of a file of text; SST sinks have their own
  std::unique_ptr<Sink> rows_;
  SstSink* sst_ = nullptr;  // what rows_ is, if it is one
  uint64_t added_ = 0, committed_ = 0;
};

}  // namespace rocksieve::join
