// The results of several shards, each kept in a temporary file, and merged at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "lib/join/rows/sink.h"
#include "lib/join/sort/row_spool.h"
#include "lib/join/sort/temporary_file.h"

namespace rocksieve::join {

class ShardSpool final : public ResultSink {
 public:
  static absl::StatusOr<std::unique_ptr<ShardSpool>> Create();

  absl::Status Add(const Row& row, Side from) override { return pending_.Add(row, from); }
  absl::Status Commit() override;
  absl::Status Discard() override { return pending_.Clear(); }
  absl::Status Restart() override;

  // The next one of what is committed. The row is valid until the next call.
  absl::StatusOr<bool> Next(Row* row, Side* from);

 private:
  explicit ShardSpool(std::unique_ptr<TemporaryFile> file) : file_(std::move(file)) {}
  absl::Status Flush();
  absl::Status Need(size_t bytes);

  RowSpool pending_;
  const std::unique_ptr<TemporaryFile> file_;
  std::string buffer_;  // to be appended; or read and not yet taken, from taken_ on
  size_t taken_ = 0;
  uint64_t read_ = 0;  // bytes of the file
};

// Rows of the answering side that any shard has; rows of the asking side that all shards gave. In
// the order of their keys.
absl::Status MergeShards(const std::vector<std::unique_ptr<ShardSpool>>& shards, Sink* sink);

}  // namespace rocksieve::join
