// Where the rows of a result go: a file that appears under its name when it is complete, or the
// standard output, which gets rows only when they are proven right.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <rocksieve/join/join.h>

#include "lib/join/rows/sink.h"
#include "lib/join/sort/pending_file.h"
#include "lib/join/sort/revocable_file.h"
#include "plugin/join/sst_sink.h"

namespace rocksieve::join {

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

  uint64_t rows() const { return committed_; }

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
