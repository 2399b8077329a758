// SPDX-License-Identifier: Apache-2.0
// Bytes that go to a file or a pipe, and can be taken back until they are committed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "lib/join/sort/temporary_file.h"

namespace rocksieve::join {

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
