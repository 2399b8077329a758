// SPDX-License-Identifier: Apache-2.0
// A file that gets its name when it is complete, and until then has none: nothing is left behind
// however the process ends, and nobody can plant a link where it is written.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rocksieve {

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
  // that directory is not there or may not be written to.
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
  // Once. 0, or the system's number of an error, with a sentence; then what is there stays.
  int Publish(std::string* error);

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
