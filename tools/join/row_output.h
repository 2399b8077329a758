// SPDX-License-Identifier: Apache-2.0
// Where the rows go that a comparison finds: a file that appears when all is compared, or the
// standard output, a pipe, a device.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <rocksdb/status.h>

#include "support/pending_file.h"

namespace rocksieve::tools {

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

  rocksdb::Status Write(const std::string& line);
  // That are in it, of earlier processes as well.
  uint64_t bytes() const { return bytes_; }
  // What was written is on the disk, or with whoever reads.
  rocksdb::Status Sync();
  // The file gets its name.
  rocksdb::Status Finish();

 private:
  rocksdb::Status OpenStream(const std::string& path);
  rocksdb::Status Failed() const;

  FILE* stream_ = stdout;  // unless there is a pending file
  std::unique_ptr<PendingFile> file_;
  std::string path_, unfinished_path_;  // of Continue()
  bool complete_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace rocksieve::tools
