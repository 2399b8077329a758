// SPDX-License-Identifier: Apache-2.0
// A file that has no name, so that nothing is left behind however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

namespace rocksieve::join {

// What is free for files in a directory, as TemporaryFile::Create() has it; 0 if nobody can tell.
uint64_t FreeBytes(const std::string& directory);

// Thread safety: reading may be done from any thread, once nothing is appended any more.
class TemporaryFile {
 public:
  // In the system's directory for such files ($TMPDIR, else /tmp) if `directory` is empty.
  static absl::StatusOr<std::unique_ptr<TemporaryFile>> Create(const std::string& directory);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  absl::Status Append(std::string_view bytes);
  // Reads just so many bytes, or fails.
  absl::Status Read(uint64_t offset, size_t bytes, char* to) const;
  // Makes it empty.
  absl::Status Clear();
  uint64_t bytes() const { return bytes_; }

 private:
  TemporaryFile(std::string directory, int descriptor);
  absl::Status Error(const char* doing, int error) const;

  const std::string directory_;
  const int descriptor_;
  uint64_t bytes_ = 0;
};

// Bytes that go to a file or a pipe, and can be taken back until they are committed.

// A regular file is written at once, and truncated when bytes are taken back. What cannot be
// truncated (a pipe, a terminal, a file opened for appending) gets bytes when they are committed;
// until then a temporary file has them.
class RevocableFile {
 public:
  // Makes the file, or empties it; "-" is the standard output.
  static absl::StatusOr<std::unique_ptr<RevocableFile>> Open(const std::string& path);
  // Writes to a file that is open; it gets a descriptor of its own. The name is for messages.
  static absl::StatusOr<std::unique_ptr<RevocableFile>> OfDescriptor(int descriptor,
                                                                     const std::string& name);
  ~RevocableFile();
  RevocableFile(const RevocableFile&) = delete;
  RevocableFile& operator=(const RevocableFile&) = delete;

  absl::Status Append(std::string_view bytes);
  absl::Status Commit();
  absl::Status Discard();

 private:
  RevocableFile(std::string name, int descriptor);
  absl::Status Write(std::string_view bytes);
  absl::Status Spill();

  const std::string name_;
  const int descriptor_;
  bool can_truncate_ = false;
  uint64_t committed_ = 0;  // where the bytes that were not committed begin
  std::string buffer_;
  std::unique_ptr<TemporaryFile> held_;  // if it cannot be truncated
};

}  // namespace rocksieve::join
