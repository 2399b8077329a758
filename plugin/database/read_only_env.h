// SPDX-License-Identifier: Apache-2.0
// An Env that cannot write, whatever it is asked: the guarantee that looking leaves no trace.
//
// RocksDB writes even when it opens a database read-only: it deletes the *.trash files that it
// finds (SanitizeOptions(), 7.8). Here every such call fails, and RocksDB goes on without.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>

namespace rocksieve {

enum class WriteAheadLogs {
  // What is in them is in no file yet and has no filter, and replaying gigabytes of them would take
  // time and memory.
  kLookEmpty,
  kAreRead,
};

// On top of the file system of RocksDB's default Env. Lives as long as the process.
rocksdb::Env* ReadOnlyEnv(WriteAheadLogs logs = WriteAheadLogs::kLookEmpty);

// A file that is open: it stays readable when its owner deletes it.
//
// Thread-safe.
class HeldFile {
 public:
  // PathNotFound if there is none, else IOError.
  static rocksdb::IOStatus Open(const std::string& path, std::shared_ptr<const HeldFile>* file);
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // What it has now: its owner may go on writing.
  rocksdb::IOStatus Size(uint64_t* bytes) const;

  // Fewer bytes only at its end. `result` points into `scratch`.
  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, rocksdb::Slice* result,
                         char* scratch) const;

  // Whether the path still names it, and not another file or none.
  bool IsAt(const std::string& path) const;

  // Another name for it. PathNotFound if its owner has deleted it; InvalidArgument if the name is
  // on another file system.
  rocksdb::IOStatus LinkTo(const std::string& name) const;
  // A new file of its first bytes.
  rocksdb::IOStatus CopyTo(const std::string& name, uint64_t most_bytes) const;

  int descriptor() const { return descriptor_; }

 private:
  HeldFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  const std::string path_;  // for errors
  const int descriptor_;
};

// The file as RocksDB reads it; they hold it.
std::unique_ptr<rocksdb::FSRandomAccessFile> RandomAccessTo(std::shared_ptr<const HeldFile> file);
// No byte from `end` on.
std::unique_ptr<rocksdb::FSSequentialFile> SequentialAccessTo(
    std::shared_ptr<const HeldFile> file, uint64_t end = std::numeric_limits<uint64_t>::max());

}  // namespace rocksieve
