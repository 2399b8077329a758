// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/temporary_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

std::string Chosen(const std::string& directory) {
  const char* const named = std::getenv("TMPDIR");
  return !directory.empty() ? directory : named != nullptr && named[0] != '\0' ? named : "/tmp";
}

}  // namespace

uint64_t FreeBytes(const std::string& directory) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(Chosen(directory), error);
  return error ? 0 : space.available;
}

absl::StatusOr<std::unique_ptr<TemporaryFile>> TemporaryFile::Create(const std::string& directory) {
  const std::string chosen = Chosen(directory);
  std::string path = chosen + "/rocksieve-XXXXXX";
  const int descriptor = mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    return absl::FailedPreconditionError(absl::StrCat("cannot make a temporary file in ", chosen,
                                                      ": ", std::strerror(errno),
                                                      ". Name a directory that can be written to, "
                                                      "by TMPDIR in the environment"));
  }
  unlink(path.c_str());
  return std::unique_ptr<TemporaryFile>(new TemporaryFile(chosen, descriptor));
}

TemporaryFile::TemporaryFile(std::string directory, int descriptor)
    : directory_(std::move(directory)), descriptor_(descriptor) {}

TemporaryFile::~TemporaryFile() { close(descriptor_); }

absl::Status TemporaryFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (written < 0) {
      if (errno == EINTR) continue;
      return Error("write", errno);
    }
    bytes_ += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status TemporaryFile::Read(uint64_t offset, size_t bytes, char* to) const {
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, to, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error("read", got < 0 ? errno : EIO);
    offset += static_cast<uint64_t>(got);
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

absl::Status TemporaryFile::Clear() {
  if (ftruncate(descriptor_, 0) != 0) return Error("truncate", errno);
  bytes_ = 0;
  return absl::OkStatus();
}

absl::Status TemporaryFile::Error(const char* doing, int error) const {
  const std::string what = absl::StrCat("cannot ", doing, " a temporary file in ", directory_,
                                        " after ", bytes_, " bytes: ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ". Name a directory with more space, or allow more memory"));
  }
  return absl::DataLossError(what);
}

namespace {

constexpr size_t kBufferBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<RevocableFile>> RevocableFile::Open(const std::string& path) {
  const bool standard = path == "-";
  const int descriptor = standard
                             ? dup(STDOUT_FILENO)
                             : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<RevocableFile>(
      new RevocableFile(standard ? "the standard output" : path, descriptor));
}

absl::StatusOr<std::unique_ptr<RevocableFile>> RevocableFile::OfDescriptor(
    int descriptor, const std::string& name) {
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot write ", name, ": ", std::strerror(errno)));
  }
  return std::unique_ptr<RevocableFile>(new RevocableFile(name, own));
}

RevocableFile::RevocableFile(std::string name, int descriptor)
    : name_(std::move(name)), descriptor_(descriptor) {
  struct stat file {};
  const int flags = fcntl(descriptor_, F_GETFL);
  const off_t here = lseek(descriptor_, 0, SEEK_CUR);
  can_truncate_ = fstat(descriptor_, &file) == 0 && S_ISREG(file.st_mode) && here >= 0 &&
                  here == file.st_size && (flags & O_APPEND) == 0;
  committed_ = can_truncate_ ? static_cast<uint64_t>(here) : 0;
}

RevocableFile::~RevocableFile() { close(descriptor_); }

absl::Status RevocableFile::Append(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Spill();
}

absl::Status RevocableFile::Spill() {
  absl::Status status;
  if (can_truncate_) {
    status = Write(buffer_);
  } else {
    if (held_ == nullptr) {
      absl::StatusOr<std::unique_ptr<TemporaryFile>> file = TemporaryFile::Create("");
      if (!file.ok()) return file.status();
      held_ = *std::move(file);
    }
    status = held_->Append(buffer_);
  }
  buffer_.clear();
  return status;
}

absl::Status RevocableFile::Commit() {
  absl::Status status;
  if (held_ != nullptr && held_->bytes() > 0) {
    std::string part;
    for (uint64_t offset = 0; offset < held_->bytes() && status.ok(); offset += part.size()) {
      part.resize(std::min<uint64_t>(kBufferBytes, held_->bytes() - offset));
      status = held_->Read(offset, part.size(), part.data());
      if (status.ok()) status = Write(part);
    }
    if (status.ok()) status = held_->Clear();
  }
  if (status.ok()) status = Write(buffer_);
  buffer_.clear();
  if (can_truncate_) committed_ = static_cast<uint64_t>(lseek(descriptor_, 0, SEEK_CUR));
  return status;
}

absl::Status RevocableFile::Discard() {
  buffer_.clear();
  if (held_ != nullptr) return held_->Clear();
  if (!can_truncate_) return absl::OkStatus();
  const auto end = static_cast<off_t>(committed_);
  if (ftruncate(descriptor_, end) == 0 && lseek(descriptor_, end, SEEK_SET) == end) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("cannot take back what was written to ", name_, ": ", std::strerror(errno)));
}

absl::Status RevocableFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const std::string what = absl::StrCat("cannot write ", name_, ": ", std::strerror(errno));
      return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                 ? absl::ResourceExhaustedError(what)
                 : absl::DataLossError(what);
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::join
