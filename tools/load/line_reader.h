// Lines of a file or of the standard input, one after another, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rocksdb/status.h>

namespace rocksieve::tools {

class LineReader {
 public:
  // `source` is a path, or "-" for the standard input.
  explicit LineReader(std::string source);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // InvalidArgument if it cannot be opened.
  rocksdb::Status Open();

  // Every byte up to the next newline; the last line may lack it. The view is valid until the next
  // call. *done is set, and *line left alone, if there are no more. InvalidArgument if reading
  // fails or the line is longer than kMaxLineBytes; Aborted if the user interrupts the command,
  // even while nothing arrives.
  rocksdb::Status Next(std::string_view* line, bool* done);

  uint64_t line_number() const { return line_number_; }  // of the last line returned; from 1
  uint64_t bytes_read() const { return bytes_read_; }    // of whole lines
  uint64_t total_bytes() const { return total_bytes_; }  // 0 if not known
  const std::string& name() const { return name_; }      // for messages

  static constexpr size_t kMaxLineBytes = 8 << 20;

 private:
  rocksdb::Status Fill();

  const std::string source_;
  const std::string name_;
  int descriptor_ = -1;
  bool at_end_ = false;
  std::string buffer_;
  size_t begin_ = 0;  // of what was not returned yet
  uint64_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace rocksieve::tools
