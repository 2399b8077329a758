// SPDX-License-Identifier: Apache-2.0
#include "support/work_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>
#include <utility>

namespace rocksieve {
namespace {

namespace fs = std::filesystem;
using rocksdb::Status;

std::atomic<const WorkDir*> latest = nullptr;

Status Unusable(const std::string& path, const std::string& why) {
  return Status::InvalidArgument("cannot write in the directory " + path + ": " + why +
                                 "\nName another one with --db-dir=DIR.");
}

Status CreateTemporary(const std::string& purpose, std::string* path) {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    return Status::InvalidArgument("there is no directory for temporary files: " + error.message() +
                                   "\nSet TMPDIR to one, or name one with --db-dir=DIR.");
  }
  std::string name = (parent / (purpose + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) return Unusable(parent.string(), std::strerror(errno));
  *path = std::move(name);
  return Status::OK();
}

Status CreateOrTake(const fs::path& path, bool* made) {
  std::error_code error;
  *made = fs::create_directory(path, error);
  if (*made) return Status::OK();
  if (error) return Unusable(path.string(), error.message());
  const bool empty = fs::is_empty(path, error);
  if (error) return Unusable(path.string(), error.message());
  if (!empty) return Unusable(path.string(), "it is not empty, and what is in it might be yours");
  if (access(path.c_str(), W_OK | X_OK) != 0) return Unusable(path.string(), std::strerror(errno));
  return Status::OK();
}

}  // namespace

Status WorkDir::Create(const std::string& wanted, const std::string& purpose,
                       std::unique_ptr<WorkDir>* result) {
  std::string path = wanted;
  bool made = true;
  const Status status =
      wanted.empty() ? CreateTemporary(purpose, &path) : CreateOrTake(path, &made);
  if (!status.ok()) return status;
  try {
    result->reset(new WorkDir(fs::absolute(path), made));
  } catch (const std::exception&) {  // no memory
    if (made) rmdir(path.c_str());
    throw;
  }
  return status;
}

WorkDir::WorkDir(fs::path path, bool made) : path_(std::move(path)), made_(made) { latest = this; }

std::unique_ptr<WorkDir> WorkDir::Announce(const std::string& path) {
  std::unique_ptr<WorkDir> announced(new WorkDir(path, /*made=*/true));
  announced->only_at_termination_ = true;
  return announced;
}

void WorkDir::Remove(std::error_code* error) const {
  if (made_) {
    fs::remove_all(path_, *error);
  } else {
    for (fs::directory_iterator entry(path_, *error), end; !*error && entry != end;
         entry.increment(*error)) {
      fs::remove_all(entry->path(), *error);
    }
  }
  if (*error == std::errc::not_enough_memory) throw std::bad_alloc();
}

void WorkDir::RemoveAtTermination() noexcept {
  // What other threads make meanwhile goes with the next attempt, once they can make no more.
  constexpr int kAttempts = 100;
  constexpr useconds_t kPauseMicroseconds = 20'000;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    if (attempt > 0) usleep(kPauseMicroseconds);
    const WorkDir* const directory = latest;
    if (directory == nullptr || directory->keep_) return;
    try {
      std::error_code error;
      directory->Remove(&error);
      if (!error) return;
    } catch (const std::exception&) {  // no memory for a name: other threads have it
    }
  }
}

WorkDir::~WorkDir() {
  if (!keep_ && !only_at_termination_) {
    std::error_code error;
    Remove(&error);
    if (error) {
      std::cerr << "rocksieve: cannot remove " << path_.string() << ": " << error.message() << "\n";
    }
  }
  latest = nullptr;
}

}  // namespace rocksieve
