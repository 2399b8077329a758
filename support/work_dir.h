// SPDX-License-Identifier: Apache-2.0
// A directory for what a command writes, removed again whatever happens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <rocksdb/status.h>

namespace rocksieve {

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
