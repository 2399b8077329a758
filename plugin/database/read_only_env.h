// SPDX-License-Identifier: Apache-2.0
// An Env that cannot write, whatever it is asked: the guarantee that looking leaves no trace.
//
// RocksDB writes even when it opens a database read-only: it deletes the *.trash files that it
// finds (SanitizeOptions(), 7.8). Here every such call fails, and RocksDB goes on without.
#pragma once

#include <memory>

#include <rocksdb/env.h>

namespace rocksieve {

enum class WriteAheadLogs {
  // What is in them is in no file yet and has no filter, and replaying gigabytes of them would take
  // time and memory.
  kLookEmpty,
  kAreRead,
};

// On top of the file system of RocksDB's default Env. Lives as long as the process.
rocksdb::Env* ReadOnlyEnv(WriteAheadLogs logs = WriteAheadLogs::kLookEmpty);

}  // namespace rocksieve
