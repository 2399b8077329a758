// SPDX-License-Identifier: Apache-2.0
// An Env that cannot write, whatever it is asked: the guarantee that looking leaves no trace.
//
// RocksDB writes even when it opens a database read-only: it deletes the *.trash files that it
// finds (SanitizeOptions(), 7.8). Here every such call fails, and RocksDB goes on without.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/io_status.h>
#include <rocksdb/status.h>

#include "plugin/database/column_family.h"

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

// The files of a database as they were at one moment, whatever its owner does meanwhile.
//
//   SnapshotFiles files(directory, WriteAheadLogs::kAreRead, /*hold_tables=*/true);
//   Status status = files.Look([&](bool* explained) { return OpenWith(files.env()); });
//
// An owner that flushes and compacts deletes files all the time, but a file only after its MANIFEST
// has said so. So all files are opened first, and believed only if the MANIFEST did not grow
// meanwhile: then it names none that is not held, and no log that may hold rows is missing. What is
// held stays from one attempt to the next, so that an attempt opens only files that are new, which
// takes microseconds, where the owner needs milliseconds for a flush. Nothing is linked, locked or
// written.

// That a process may have open beside the tables of a database that it looks at.
inline constexpr uint64_t kOtherOpenFiles = 100;

// The table files in a directory, and its blob files if wanted; 0 if it cannot be read.
uint64_t CountTableFiles(const std::string& directory, bool with_blobs = false);

// 12 of "000012.sst" or "000012.log"; 0 of other names.
uint64_t FileNumber(const std::string& name);

// Raises the limit as far as it goes without privileges (the hard limit), and returns it.
uint64_t RaiseOpenFilesLimit();

class SnapshotFiles {
 public:
  // Holds CURRENT, MANIFEST, OPTIONS files and logs; tables and blobs too if `hold_tables`.
  // `is_kept`: Keep() made it, so that its logs are its own, wherever its OPTIONS say.
  SnapshotFiles(std::string directory, WriteAheadLogs logs, bool hold_tables, bool is_kept = false);
  ~SnapshotFiles();
  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;

  // Goes to the present moment and calls `look`, until that succeeds and its files did not change
  // under it. Gives up when the same error comes again and again, when the files change faster than
  // they can be held for two minutes (TimedOut), and when the user interrupts it (Aborted).
  // `look` sets its argument if its error is final, and for people already; all others are
  // explained here.
  rocksdb::Status Look(const std::function<rocksdb::Status(bool* explained)>& look);

  // Shows the files. Cannot write, as ReadOnlyEnv(). Thread-safe. Must outlive databases
  // that are opened with it, but not files.
  rocksdb::Env* env() const { return env_.get(); }

  // The latest OPTIONS file; empty if there is none.
  const OptionsFile& options() const { return options_; }

  // Where its logs are, as its OPTIONS say; empty: in its own directory.
  std::string wal_dir() const;

  // Lets go of tables and blobs that these column families do not have: what is held takes place on
  // the disk, even if its owner deletes it.
  void HoldOnlyFilesOf(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families);

  // Makes a directory, which must not be there, a database of its own in the state that is held:
  // hard links of tables and blobs, copies of all else. PathNotFound, and the directory is gone,
  // if the owner has deleted one of them meanwhile. InvalidArgument if the directory is on another
  // file system, or logs are kept elsewhere (wal_dir).
  rocksdb::Status Keep(const std::string& directory) const;

 private:
  class Files;
  using Time = std::chrono::steady_clock::time_point;

  rocksdb::Status Refresh(Time deadline);
  void HoldDirectories();
  void LoadOptions();
  bool LogsAreIntact() const;
  rocksdb::Status TooFast() const;

  const std::string directory_;
  const WriteAheadLogs logs_;
  const bool is_kept_;
  const std::shared_ptr<Files> files_;
  const std::unique_ptr<rocksdb::Env> env_;
  OptionsFile options_;
};

}  // namespace rocksieve
