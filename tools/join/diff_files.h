// SPDX-License-Identifier: Apache-2.0
// The files that a comparison writes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <rocksdb/status.h>

#include "support/files.h"
#include "support/table.h"

namespace rocksieve::tools {

// Where the rows go that it finds: a file that appears when all is compared, or the standard
// output, a pipe, a device.
class RowOutput {
 public:
  RowOutput() = default;
  ~RowOutput();
  RowOutput(const RowOutput&) = delete;
  RowOutput& operator=(const RowOutput&) = delete;

  // "-": the standard output.
  rocksdb::Status Open(const std::string& path);

  // The same for a comparison that goes on in another process if this one is killed: until all is
  // compared a file's rows are in `path`.unfinished. Of what is there, the first `bytes` are kept.
  // With `complete`, it may have its name already.
  rocksdb::Status Continue(const std::string& path, uint64_t bytes, bool complete);
  // Before the first process calls that: InvalidArgument if rows of something else are there.
  static rocksdb::Status CheckNew(const std::string& path);

  // A file that is for nobody else and is never finished; made if it is not there, kept likewise.
  rocksdb::Status Keep(const std::string& path, uint64_t bytes);

  rocksdb::Status Write(const std::string& line);
  // That are in it, of earlier processes as well.
  uint64_t bytes() const { return bytes_; }
  // What was written is on the disk, or with whoever reads.
  rocksdb::Status Sync();
  // The file gets its name, in place of one that has it, if it `replaces` that.
  rocksdb::Status Finish(bool replaces = true);

 private:
  rocksdb::Status OpenStream(const std::string& path);
  rocksdb::Status OpenUnfinished(const std::string& path, uint64_t bytes, int create, mode_t mode);
  rocksdb::Status Failed() const;

  FILE* stream_ = stdout;  // unless there is a pending file
  std::unique_ptr<PendingFile> file_;
  std::string path_, unfinished_path_;  // of Continue()
  bool complete_ = false;
  uint64_t bytes_ = 0;
};

// A JSON document in a file that is whole at each moment, and that one process at a time has.
//
// The first line says what it is, in which version, and has a hash of the rest; the rest is the
// document, in which each byte of a string that is not ASCII stands for itself (U+0080 to U+00FF):
// names and keys need not be UTF-8.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}
  ~StateFile() { Release(); }
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
  void Release();

  const std::string path_;
  int descriptor_ = -1;  // locked
};

}  // namespace rocksieve::tools
