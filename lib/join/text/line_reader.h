// Reads a file line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/status.h>

namespace rocksieve::join {

class LineReader {
 public:
  // Reads from `offset` of the file; from where it stands if that is nothing to seek in (a pipe).
  // `name` is for errors. The descriptor must outlive it.
  LineReader(int descriptor, std::string name, uint64_t offset = 0);

  // False at the end, and after an error. The line has no line feed at its end; the last one in the
  // file may do without. Valid until the next call.
  bool Next(std::string_view* line);
  // Where the line that comes next begins.
  uint64_t offset() const { return offset_; }
  absl::Status status() const { return status_; }

 private:
  bool Fill();

  const int descriptor_;
  const std::string name_;
  uint64_t offset_, read_offset_;
  std::string buffer_;
  size_t begin_ = 0;  // of what was not given out yet
  bool ended_ = false;
  absl::Status status_;
};

}  // namespace rocksieve::join
