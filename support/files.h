// SPDX-License-Identifier: Apache-2.0
// Lines of a file or of the standard input, one after another; of memory it takes the longest line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
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

// A file that gets its name when it is complete, and until then has none: nothing is left behind
// however the process ends, and nobody can plant a link where it is written.

// What a path names that a result is written to: "-" is the standard output.
struct OutputPlace {
  // What a link leads to, so that this is replaced, and not the link.
  std::string path;
  // The standard output, a pipe or a device: what was written cannot be taken back.
  bool is_stream = false;
};

// False, and a sentence, if it is a directory.
bool FindOutputPlace(const std::string& path, OutputPlace* place, std::string* error);

// On file systems that have no files without a name (O_TMPFILE), it has a random one in the same
// directory, which is made anew and never a link's target; a process that is killed leaves that
// file, and no later one minds it. Not thread-safe.
class PendingFile {
 public:
  // In the directory of `path`, which is not touched before Publish(). Null, and a sentence, if
  // that directory is not there or may not be written to, or `path` is a device or a pipe.
  static std::unique_ptr<PendingFile> Create(const std::string& path, std::string* error);
  // What was not published is gone.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return path_; }
  // For reading and writing, as long as this lives.
  int descriptor() const { return descriptor_; }
  // Opens the same file, in this process and as long as this lives.
  const std::string& open_path() const { return open_path_; }

  // All of it, at the end of the file. False, and a sentence, if that fails: a full disk, say.
  bool Append(std::string_view bytes, std::string* error);

  // To the disk, and then to its name, in place of a file that has it, whose permissions it takes.
  // Once. 0, or the system's number of an error, with a sentence; then what is there stays. Unless
  // it `replaces`, EEXIST is one.
  int Publish(std::string* error, bool replaces = true);

 private:
  explicit PendingFile(std::string path) : path_(std::move(path)) {}
  int OpenUnnamed();
  int OpenNamed();

  const std::string path_;
  int descriptor_ = -1;
  std::string open_path_;
  std::string temporary_path_;  // empty: it has no name
};

}  // namespace rocksieve
