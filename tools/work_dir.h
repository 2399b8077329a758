// A directory for what a command writes, removed again whatever happens.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <rocksdb/status.h>

namespace rocksieve::tools {

class WorkDir {
 public:
  // `wanted` empty: makes a fresh directory where temporary ones belong ($TMPDIR or /tmp), named
  // after `purpose`. Else makes `wanted`, whose parent must exist, or takes it if it is empty: what
  // somebody else put there is never touched. InvalidArgument if it cannot be had, with the remedy.
  static rocksdb::Status Create(const std::string& wanted, const std::string& purpose,
                                std::unique_ptr<WorkDir>* result);

  // Removes all that is in it, and the directory too if Create() made it; unless kept.
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;

  void Keep() { keep_ = true; }

  const std::filesystem::path& path() const { return path_; }

 private:
  WorkDir(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}

  const std::filesystem::path path_;
  const bool made_;
  bool keep_ = false;
};

}  // namespace rocksieve::tools
