// Rows of a result as lines of text.
#pragma once

#include <memory>
#include <string>

#include "join/output_file.h"
#include "transport/result_sink.h"

namespace rocksieve::tools {

enum class LineFormat { kTsv, kJson };

struct LineOptions {
  LineFormat format = LineFormat::kTsv;
  bool name_side = false;  // of each row: "local" or "remote", in front
  // The rows of that side are packed in the values of attributes (lib/join/packed_row.h).
  bool local_is_packed = false, remote_is_packed = false;
};

class TextSink final : public join::ResultSink {
 public:
  // `file` must outlive it.
  TextSink(OutputFile* file, const LineOptions& options) : file_(file), options_(options) {}

  absl::Status Add(const join::Row& row, join::Side from) override;
  absl::Status Commit() override { return file_->Commit(); }
  absl::Status Discard() override { return file_->Discard(); }
  absl::Status Restart() override { return file_->Restart(); }

 private:
  OutputFile* const file_;
  const LineOptions options_;
  std::string line_;
};

}  // namespace rocksieve::tools
