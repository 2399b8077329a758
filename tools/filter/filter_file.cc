// SPDX-License-Identifier: Apache-2.0
#include "tools/filter/filter_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// 0, or the system's number of an error.
int ReadWhole(const std::string& path, std::string* bytes) {
  // Not to wait for somebody who writes into a pipe.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return errno;
  struct stat attributes = {};
  int error = fstat(descriptor, &attributes) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(attributes.st_mode))
    error = S_ISDIR(attributes.st_mode) ? EISDIR : EINVAL;
  if (error == 0) bytes->resize(static_cast<size_t>(attributes.st_size));
  size_t done = 0;
  while (error == 0 && done < bytes->size()) {
    const ssize_t got = read(descriptor, bytes->data() + done, bytes->size() - done);
    if (got == 0) break;
    if (got > 0) done += static_cast<size_t>(got);
    if (got < 0 && errno != EINTR) error = errno;
  }
  bytes->resize(done);
  close(descriptor);
  return error;
}

const char* WhatIsWrong(BlockState state) {
  switch (state) {
    case BlockState::kIntact:
      break;
    case BlockState::kForeign:
      return " is not a filter of rocksieve filter build. Of table files (*.sst), rocksieve "
             "inspect "
             "shows the filters.";
    case BlockState::kDamaged:
      return " is a damaged filter: its bytes are not those that were written, and no answer of it "
             "can be trusted. Build it again from its keys: rocksieve filter build";
    case BlockState::kFutureVersion:
      return " is a filter of a later version of rocksieve. Query it with that one.";
  }
  return "";
}

}  // namespace

Status FilterFile::Open(const std::string& path, std::unique_ptr<FilterFile>* file) {
  std::unique_ptr<FilterFile> read(new FilterFile);
  const int error = ReadWhole(path, &read->bytes_);
  if (error == EINVAL) return Status::InvalidArgument(path + " is no regular file");
  if (error != 0) {
    return Status::IOError("cannot read the filter " + path + ": " + std::strerror(error));
  }
  read->opened_ = OpenFilter(read->bytes_);
  if (read->opened_.state != BlockState::kIntact) {
    return Status::Corruption(path + WhatIsWrong(read->opened_.state));
  }
  *file = std::move(read);
  return Status::OK();
}

}  // namespace rocksieve::tools
