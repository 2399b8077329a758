// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/pending_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr int kMostNames = 100;  // that are taken already, by chance or by malice

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RandomNameBeside(const std::string& path) {
  std::random_device random;  // of the operating system
  return absl::StrCat(path, ".", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8), ".tmp");
}

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(error)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PendingFile>> PendingFile::Create(const std::string& path) {
  std::unique_ptr<PendingFile> file(new PendingFile(path));
  if (file->OpenUnnamed().ok()) return file;
  const absl::Status status = file->OpenNamed();
  if (!status.ok()) return status;
  return file;
}

absl::Status PendingFile::OpenUnnamed() {
#ifdef O_TMPFILE
  descriptor_ = open(DirectoryOf(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return CannotWrite(path_, errno);
  open_path_ = absl::StrCat("/proc/self/fd/", descriptor_);
  struct stat by_descriptor {
  }, by_path{};
  if (fstat(descriptor_, &by_descriptor) == 0 && stat(open_path_.c_str(), &by_path) == 0 &&
      by_descriptor.st_ino == by_path.st_ino && by_descriptor.st_dev == by_path.st_dev) {
    return absl::OkStatus();
  }
  close(descriptor_);  // without /proc it could not be given a name
  descriptor_ = -1;
#endif
  return CannotWrite(path_, ENOTSUP);
}

absl::Status PendingFile::OpenNamed() {
  for (int i = 0; i < kMostNames; i++) {
    temporary_path_ = RandomNameBeside(path_);
    descriptor_ =
        open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      open_path_ = temporary_path_;
      return absl::OkStatus();
    }
    if (errno != EEXIST) break;
  }
  temporary_path_.clear();
  return CannotWrite(path_, errno);
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

absl::Status PendingFile::Publish() {
  struct stat old {};
  if (stat(path_.c_str(), &old) == 0) fchmod(descriptor_, old.st_mode & 07777);
  if (fsync(descriptor_) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot finish ", path_));
  }
  for (int i = 0; temporary_path_.empty() && i < kMostNames; i++) {
    const std::string name = RandomNameBeside(path_);
    if (linkat(AT_FDCWD, open_path_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_path_ = name;
    } else if (errno != EEXIST) {
      break;
    }
  }
  if (temporary_path_.empty() || std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot give the result its name, ", path_));
  }
  temporary_path_.clear();
  const int directory = open(DirectoryOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);  // else a power failure may take the name back; the rows are safe
    close(directory);
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
