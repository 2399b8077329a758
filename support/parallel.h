// SPDX-License-Identifier: Apache-2.0
// Independent tasks on all processors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>

#include <rocksdb/status.h>

#include "support/progress.h"

namespace rocksieve {

// Calls task(0) .. task(count - 1), several at a time, each in some thread. After an error no
// further task is begun; returns the error when all that were begun have ended. An exception of a
// task is thrown on.
rocksdb::Status RunAll(size_t count, const std::function<rocksdb::Status(size_t)>& task);

// What write() returns. An exception, as where memory or threads run out, ends the process by
// std::terminate(): out of a write of RocksDB it must not be thrown on, for closing that database
// would then wait without end.
template <typename Write>
auto WithoutException(Write write) {
  try {
    return write();
  } catch (...) {
    std::terminate();
  }
}

// Progress::Advance() as the status of a task: Aborted if the user has interrupted the command.
rocksdb::Status Advanced(Progress* progress, uint64_t units = 1);

// A directory for what a command writes, removed again whatever happens.

class WorkDir {
 public:
  // `wanted` empty: makes a fresh directory where temporary ones belong ($TMPDIR or /tmp), named
  // after `purpose`. Else makes `wanted`, whose parent must exist, or takes it if it is empty: what
  // somebody else put there is never touched. InvalidArgument if it cannot be had, with the remedy.
  static rocksdb::Status Create(const std::string& wanted, const std::string& purpose,
                                std::unique_ptr<WorkDir>* result);

  // Removes all that is in it, and the directory too if Create() made it; unless kept. Where there
  // is no memory for that it ends in std::terminate(), whose handler is to call
  // RemoveAtTermination().
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;

  // A directory that does not exist and that the caller is about to make: RemoveAtTermination()
  // removes it while the object lives, and nothing else does.
  static std::unique_ptr<WorkDir> Announce(const std::string& path);

  // Removes the one that was made last, if it lives, while other threads may still write
  // into it. For who is about to end the process; throws nothing.
  static void RemoveAtTermination() noexcept;

  void Keep() { keep_ = true; }

  const std::filesystem::path& path() const { return path_; }

 private:
  WorkDir(std::filesystem::path path, bool made);
  void Remove(std::error_code* error) const;  // bad_alloc where memory is out

  const std::filesystem::path path_;
  const bool made_;
  bool keep_ = false;
  bool only_at_termination_ = false;
};

}  // namespace rocksieve
