// SPDX-License-Identifier: Apache-2.0
#include "support/pending_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

namespace rocksieve {
namespace {

constexpr int kMostNames = 100;  // that are taken already, by chance or by malice

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RandomNameBeside(const std::string& path) {
  std::random_device random;  // of the operating system
  char digits[32];
  std::snprintf(digits, sizeof(digits), ".%08x%08x.tmp", random(), random());
  return path + digits;
}

// The same number, with a sentence.
int Failed(const std::string& what, int number, std::string* error) {
  *error = what + ": " + std::strerror(number);
  return number;
}

}  // namespace

bool FindOutputPlace(const std::string& path, OutputPlace* place, std::string* error) {
  *place = {path, path == "-"};
  struct stat there {};
  if (place->is_stream || stat(path.c_str(), &there) != 0) return true;
  if (S_ISDIR(there.st_mode)) {
    *error = path + " is a directory: name a file in it";
    return false;
  }
  place->is_stream = !S_ISREG(there.st_mode);
  if (place->is_stream) return true;
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::canonical(path, ignored);
  if (!ignored) place->path = whole.string();
  return true;
}

std::unique_ptr<PendingFile> PendingFile::Create(const std::string& path, std::string* error) {
  std::unique_ptr<PendingFile> file(new PendingFile(path));
  if (file->OpenUnnamed() == 0) return file;
  const int number = file->OpenNamed();
  if (number == 0) return file;
  Failed("cannot write " + path, number, error);
  return nullptr;
}

int PendingFile::OpenUnnamed() {
#ifdef O_TMPFILE
  descriptor_ = open(DirectoryOf(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return errno;
  open_path_ = "/proc/self/fd/" + std::to_string(descriptor_);
  struct stat by_descriptor {
  }, by_path{};
  if (fstat(descriptor_, &by_descriptor) == 0 && stat(open_path_.c_str(), &by_path) == 0 &&
      by_descriptor.st_ino == by_path.st_ino && by_descriptor.st_dev == by_path.st_dev) {
    return 0;
  }
  close(descriptor_);  // without /proc it could not be given a name
  descriptor_ = -1;
#endif
  return ENOTSUP;
}

int PendingFile::OpenNamed() {
  int number = EEXIST;
  for (int i = 0; i < kMostNames && number == EEXIST; i++) {
    temporary_path_ = RandomNameBeside(path_);
    descriptor_ =
        open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      open_path_ = temporary_path_;
      return 0;
    }
    number = errno;
  }
  temporary_path_.clear();
  return number;
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

bool PendingFile::Append(std::string_view bytes, std::string* error) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Failed("cannot write " + path_, errno, error);
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

int PendingFile::Publish(std::string* error) {
  struct stat old {};
  if (stat(path_.c_str(), &old) == 0) fchmod(descriptor_, old.st_mode & 07777);
  if (fsync(descriptor_) != 0) return Failed("cannot finish " + path_, errno, error);
  int number = 0;
  for (int i = 0; temporary_path_.empty() && i < kMostNames; i++) {
    const std::string name = RandomNameBeside(path_);
    if (linkat(AT_FDCWD, open_path_.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_path_ = name;
    } else {
      number = errno;
      if (number != EEXIST) break;
    }
  }
  if (temporary_path_.empty() || std::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    return Failed("cannot give the result its name, " + path_,
                  temporary_path_.empty() ? number : errno, error);
  }
  temporary_path_.clear();
  const int directory = open(DirectoryOf(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    fsync(directory);  // else a power failure may take the name back; what is in it is safe
    close(directory);
  }
  return 0;
}

}  // namespace rocksieve
