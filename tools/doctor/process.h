// SPDX-License-Identifier: Apache-2.0
// What a process that uses RocksDB has loaded, as far as Linux tells: /proc/N needs no symbols.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

namespace rocksieve::tools {

// A file of machine code that the process has mapped.
struct LoadedFile {
  std::string path;
  bool replaced = false;         // on disk since it was loaded
  bool exports_rocksdb = false;  // so that a plugin can find RocksDB in it
};

struct ProcessFacts {
  int pid = 0;
  std::string program;  // path of the executable
  // Every copy of RocksDB's code in it: librocksdb.so, or a program or library that contains one.
  std::vector<LoadedFile> rocksdb_copies;
  std::vector<LoadedFile> plugins;  // librocksieve.so, and the build for a release that it loaded
  std::string plugin_built_for;     // "7.8"; empty if no build is loaded
  std::string preload;              // LD_PRELOAD, as the process was started with
  bool jemalloc = false;

  // Where plugins register: the shared RocksDB. Null if there is none.
  const LoadedFile* shared_rocksdb() const { return FindCopy(/*shared=*/true); }
  // What else has RocksDB's code inside: a program, or an extension of a language's runtime. Null
  // if nothing has.
  const LoadedFile* static_rocksdb() const { return FindCopy(/*shared=*/false); }
  // "7.8" of .../librocksdb.so.7.8.3; empty if the name does not tell, or there is none.
  std::string shared_rocksdb_series() const;

 private:
  const LoadedFile* FindCopy(bool shared) const;
};

// InvalidArgument if there is no such process, if it may not be looked at, or if it has no file of
// the database open.
rocksdb::Status ReadProcess(int pid, const std::string& database_directory, ProcessFacts* facts);

// The process that holds the database's lock, and so writes to it; 0 if none does, or none that can
// be seen from here.
int LockHolder(const std::string& database_directory);

}  // namespace rocksieve::tools
