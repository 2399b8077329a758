// Where rows of a result go: a file that appears under its name only when it is complete, or the
// standard output, which gets only rows that are proven right.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace rocksieve::tools {

class OutputFile {
 public:
  // "-": the standard output; empty: a file without a name.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Open(const std::string& path);
  // Removes what is not complete.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  absl::Status Append(std::string_view bytes);
  absl::Status Commit();
  // Cuts off what was appended since the last Commit().
  absl::Status Discard();
  // Cuts off everything; FailedPrecondition if somebody has it already.
  absl::Status Restart();
  // Gives a file its name. What was not committed is not in it.
  absl::Status Finish();

  // For reading a file without a name, after Commit(): from its start.
  absl::StatusOr<std::FILE*> Rewind();

 private:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  bool is_standard_output() const { return path_ == "-"; }
  absl::Status Fail(const char* doing) const;
  absl::Status CutTo(uint64_t size);
  absl::Status PassOn();

  const std::string path_;
  std::string temporary_;     // its name until it is complete; empty if it has none
  std::FILE* file_ = nullptr;  // for the standard output: of what is not committed
  uint64_t size_ = 0, committed_ = 0;
  bool passed_on_ = false;
};

}  // namespace rocksieve::tools
