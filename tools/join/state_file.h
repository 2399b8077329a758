// SPDX-License-Identifier: Apache-2.0
// A JSON document in a file that is whole at each moment, and that one process at a time has.
#pragma once

#include <string>

#include <rocksdb/status.h>

#include "support/table.h"

namespace rocksieve::tools {

// The first line says what it is, in which version, and has a hash of the rest; the rest is the
// document, in which each byte of a string that is not ASCII stands for itself (U+0080 to U+00FF):
// names and keys need not be UTF-8.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}
  ~StateFile();
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  // Makes an empty file if there is none, and holds it: InvalidArgument if another process does, or
  // it is no such document. *document is null if the file is empty.
  rocksdb::Status Open(Json* document);
  // To the disk, in place of what was there.
  rocksdb::Status Write(const Json& document);
  rocksdb::Status Remove();

  const std::string& path() const { return path_; }

 private:
  rocksdb::Status Hold();

  const std::string path_;
  int descriptor_ = -1;  // locked
};

}  // namespace rocksieve::tools
