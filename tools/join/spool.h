// The results of several shards, each kept in a file without a name, and merged at the end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "join/output_file.h"
#include "transport/result_sink.h"

namespace rocksieve::tools {

class Spool final : public join::ResultSink {
 public:
  static absl::StatusOr<std::unique_ptr<Spool>> Create();

  absl::Status Add(const join::Row& row, join::Side from) override;
  absl::Status Commit() override { return file_->Commit(); }
  absl::Status Discard() override { return file_->Discard(); }
  absl::Status Restart() override { return file_->Restart(); }

  // Its rows again, from the first one. The row is valid until the next call.
  absl::Status Rewind();
  absl::StatusOr<bool> Next(join::Row* row, join::Side* from);

 private:
  explicit Spool(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}

  const std::unique_ptr<OutputFile> file_;
  std::FILE* stream_ = nullptr;
  std::string record_;
};

// Rows of the answering side that any shard has; rows of the asking side that all shards gave. In
// the order of their keys.
absl::Status MergeShards(const std::vector<std::unique_ptr<Spool>>& shards, join::Sink* sink);

}  // namespace rocksieve::tools
