// SPDX-License-Identifier: Apache-2.0
// Lines of a file or of the standard input, one after another; of memory it takes the longest line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rocksieve {

class LineReader {
 public:
  // `source` is a path, or "-" for the standard input. If it cannot be opened, error() says why.
  explicit LineReader(const std::string& source);

  // Reads from `offset` of the file, whatever others do with the descriptor; from where it stands
  // if that is nothing to seek in (a pipe). The descriptor must outlive it.
  LineReader(int descriptor, std::string name, uint64_t offset = 0);

  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Longer lines are an error.
  void LimitLines(size_t bytes) { longest_line_bytes_ = bytes; }

  // Every byte up to the next newline; the last line may lack it. The view is valid until the next
  // call. False at the end and after an error: see error().
  bool Next(std::string_view* line);

  // What is wrong, in words that name the file and the line; empty if nothing is.
  const std::string& error() const { return error_; }
  // Whether that is Ctrl-C (support/progress.h), which ends the waiting for what does not come.
  bool interrupted() const { return interrupted_; }

  uint64_t line_number() const { return line_number_; }  // of the last line returned; from 1
  uint64_t offset() const { return offset_; }            // where the line that comes next begins
  uint64_t total_bytes() const { return total_bytes_; }  // 0 if not known
  const std::string& name() const { return name_; }      // for messages

 private:
  bool Fill();
  bool Fail(int error_number);
  long Read(char* to, size_t bytes);

  const std::string name_;
  const bool is_own_;
  int descriptor_ = -1;
  size_t longest_line_bytes_ = std::numeric_limits<size_t>::max();
  std::string buffer_;
  size_t begin_ = 0;  // of what was not returned yet
  uint64_t offset_ = 0, read_offset_ = 0, line_number_ = 0, total_bytes_ = 0;
  bool ended_ = false, interrupted_ = false;
  std::string error_;
};

}  // namespace rocksieve
