// SPDX-License-Identifier: Apache-2.0
#include "support/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "support/progress.h"
#include "support/text.h"

namespace rocksieve {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kLookForInterruptsMillis = 200;

}  // namespace

LineReader::LineReader(const std::string& source)
    : name_(source == "-" ? "the standard input" : source), is_own_(true) {
  descriptor_ = source == "-" ? STDIN_FILENO : open(source.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat attributes = {};
  if (descriptor_ < 0 || fstat(descriptor_, &attributes) != 0) {
    Fail(errno);
  } else if (S_ISDIR(attributes.st_mode)) {
    Fail(EISDIR);
  } else if (S_ISREG(attributes.st_mode)) {
    total_bytes_ = static_cast<uint64_t>(attributes.st_size);
  }
}

LineReader::LineReader(int descriptor, std::string name, uint64_t offset)
    : name_(std::move(name)),
      is_own_(false),
      descriptor_(descriptor),
      offset_(offset),
      read_offset_(offset) {}

LineReader::~LineReader() {
  if (is_own_ && descriptor_ > STDIN_FILENO) close(descriptor_);
}

bool LineReader::Next(std::string_view* line) {
  size_t searched = 0;  // of the line, without a newline in it
  while (error_.empty()) {
    const size_t newline = buffer_.find('\n', begin_ + searched);
    const bool found = newline != std::string::npos;
    searched = (found ? newline : buffer_.size()) - begin_;
    if (searched > longest_line_bytes_) {
      error_ = name_ + ", line " + std::to_string(line_number_ + 1) + ": longer than " +
               Thousands(longest_line_bytes_) +
               " bytes. Are its lines separated by newlines? Else take this one out.";
    } else if (found || (ended_ && searched > 0)) {
      *line = std::string_view(buffer_).substr(begin_, searched);
      const size_t consumed = searched + (found ? 1 : 0);
      begin_ += consumed;
      offset_ += consumed;
      line_number_++;
      return true;
    } else if (ended_ || !Fill()) {
      return false;
    }
  }
  return false;
}

bool LineReader::Fail(int error_number) {
  error_ = "cannot read " + name_ + ": " + std::strerror(error_number);
  return false;
}

long LineReader::Read(char* to, size_t bytes) {
  if (is_own_) return read(descriptor_, to, bytes);
  const ssize_t got = pread(descriptor_, to, bytes, static_cast<off_t>(read_offset_));
  return got < 0 && errno == ESPIPE ? read(descriptor_, to, bytes) : got;
}

// Appends what there is to the buffer, or notes the end.
bool LineReader::Fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t before = buffer_.size();
  const size_t want = std::max(kReadBytes, before);  // long lines: at least as much again
  buffer_.resize(before + want);
  while (true) {
    // A read() alone would go on waiting after Ctrl-C.
    pollfd input = {descriptor_, POLLIN, 0};
    const int ready = poll(&input, 1, kLookForInterruptsMillis);
    interrupted_ = InterruptSignal() != 0;
    if (interrupted_) {
      error_ = "interrupted";
      return false;
    }
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const long bytes = Read(buffer_.data() + before, want);
    if (bytes < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (bytes < 0) return Fail(errno);
    buffer_.resize(before + static_cast<size_t>(bytes));
    read_offset_ += static_cast<uint64_t>(bytes);
    ended_ = bytes == 0;
    return true;
  }
}

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
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    *error = path + " is a device or a pipe, which no file may replace: name a file";
    return nullptr;
  }
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

int PendingFile::Publish(std::string* error, bool replaces) {
  struct stat old {};
  if (stat(path_.c_str(), &old) == 0) fchmod(descriptor_, old.st_mode & 07777);
  if (fsync(descriptor_) != 0) return Failed("cannot finish " + path_, errno, error);
  if (!replaces) {  // nobody else gets the name, also where there are no hard links
    const int reserved = open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (reserved < 0) return Failed("cannot make a new file " + path_, errno, error);
    close(reserved);
  }
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
    if (!temporary_path_.empty()) number = errno;
    if (!replaces) unlink(path_.c_str());
    return Failed("cannot give the result its name, " + path_, number, error);
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
