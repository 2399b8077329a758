// SPDX-License-Identifier: Apache-2.0
#include "lib/join/sort/temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace rocksieve::join
