// Where the rows of a result go: a file that appears under its name when it is complete, or the
// standard output, which gets rows only when they are proven right.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "join/sort/pending_file.h"
#include "join/sort/revocable_file.h"
#include "join/sort/row_sorter.h"
#include "transport/result_sink.h"

namespace rocksieve::join {
class SstSink;
}

namespace rocksieve::tools {

enum class RowFormat { kTsv, kJson, kSst };

struct OutputOptions {
  std::string path = "-";  // the standard output
  RowFormat format = RowFormat::kTsv;
  bool show_side = false;  // of each row
  // Rows of that side come packed, since they are joined on an attribute.
  bool local_is_packed = false, remote_is_packed = false;
  join::SortOptions sorting;  // of SST files whose rows do not come in the order of their keys
};

class ResultOutput final : public join::ResultSink {
 public:
  static absl::StatusOr<std::unique_ptr<ResultOutput>> Open(const OutputOptions& options);
  // Removes what is not complete.
  ~ResultOutput() override;

  absl::Status Add(const join::Row& row, join::Side from) override;
  absl::Status Commit() override;
  absl::Status Discard() override;
  absl::Status Restart() override;
  // After the join.
  absl::Status Finish();

  uint64_t rows() const { return committed_; }

 private:
  explicit ResultOutput(const OutputOptions& options);
  // Looks what the path is.
  absl::Status Examine();
  absl::Status Begin();
  absl::StatusOr<std::unique_ptr<join::RevocableFile>> OpenText();

  OutputOptions options_;
  // The standard output, a pipe or a device: rows go there as they are proven.
  bool is_stream_ = false;
  std::unique_ptr<join::PendingFile> pending_;  // of a file of text; SST sinks have their own
  std::unique_ptr<join::Sink> formatted_, unpacked_;
  join::SstSink* sst_ = nullptr;
  uint64_t added_ = 0, committed_ = 0;
};

}  // namespace rocksieve::tools
