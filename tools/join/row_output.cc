// SPDX-License-Identifier: Apache-2.0
#include "tools/join/row_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;
namespace fs = std::filesystem;

constexpr char kUnfinished[] = ".unfinished";

Status PlaceOf(const std::string& path, OutputPlace* place) {
  std::string error;
  return FindOutputPlace(path, place, &error) ? Status::OK() : Status::InvalidArgument(error);
}

Status SystemError(const std::string& what) {
  return Status::InvalidArgument(what + ": " + std::strerror(errno));
}

}  // namespace

RowOutput::~RowOutput() {
  if (stream_ != nullptr && stream_ != stdout) std::fclose(stream_);
}

Status RowOutput::OpenStream(const std::string& path) {
  if (path == "-") return Status::OK();
  stream_ = std::fopen(path.c_str(), "w");
  return stream_ != nullptr ? Status::OK() : Status::InvalidArgument("cannot open " + path);
}

Status RowOutput::Open(const std::string& path) {
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status.ok() ? OpenStream(path) : status;
  std::string message;
  file_ = PendingFile::Create(place.path, &message);
  return file_ == nullptr ? Status::InvalidArgument(message) : Status::OK();
}

Status RowOutput::CheckNew(const std::string& path) {
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status;
  std::error_code error;
  const std::string unfinished = place.path + kUnfinished;
  if (!fs::exists(fs::symlink_status(unfinished, error))) return Status::OK();
  return Status::InvalidArgument(unfinished +
                                 " is there already, of a comparison that was not finished: name "
                                 "its file with --resume, or remove it");
}

Status RowOutput::Continue(const std::string& path, uint64_t bytes, bool complete) {
  bytes_ = bytes;
  OutputPlace place;
  const Status status = PlaceOf(path, &place);
  if (!status.ok() || place.is_stream) return status.ok() ? OpenStream(path) : status;
  path_ = place.path;
  unfinished_path_ = path_ + kUnfinished;
  const int create = bytes == 0 && !complete ? O_CREAT : 0;
  const int file = open(unfinished_path_.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | create, 0666);
  struct stat there {};
  if (file < 0 && errno == ENOENT && complete && stat(path_.c_str(), &there) == 0 &&
      static_cast<uint64_t>(there.st_size) == bytes) {
    complete_ = true;  // it had its name already when that process was killed
    stream_ = nullptr;
    return Status::OK();
  }
  if (file < 0) return SystemError("cannot go on with " + unfinished_path_);
  stream_ = fdopen(file, "w");
  if (stream_ == nullptr || fstat(file, &there) != 0) {
    return SystemError("cannot go on with " + unfinished_path_);
  }
  if (!S_ISREG(there.st_mode) || static_cast<uint64_t>(there.st_size) < bytes) {
    return Status::InvalidArgument(unfinished_path_ + " does not have the " +
                                   std::to_string(bytes) +
                                   " bytes of rows any more that were found so far: begin anew "
                                   "with another file for --resume");
  }
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0 || std::fseek(stream_, 0, SEEK_END) != 0) {
    return SystemError("cannot go on with " + unfinished_path_);
  }
  return Status::OK();
}

Status RowOutput::Failed() const {
  if (!unfinished_path_.empty()) return SystemError("cannot write " + unfinished_path_);
  return Status::InvalidArgument("cannot write to the standard output, or a pipe");
}

Status RowOutput::Write(const std::string& line) {
  bytes_ += line.size();
  if (file_ != nullptr) {
    std::string error;
    return file_->Append(line, &error) ? Status::OK() : Status::InvalidArgument(error);
  }
  if (stream_ == nullptr) return Status::InvalidArgument(path_ + " was complete already");
  return std::fwrite(line.data(), 1, line.size(), stream_) == line.size() ? Status::OK() : Failed();
}

Status RowOutput::Sync() {
  if (stream_ == nullptr) return Status::OK();
  if (std::fflush(stream_) != 0) return Failed();
  if (unfinished_path_.empty()) return Status::OK();
  return fdatasync(fileno(stream_)) == 0 ? Status::OK() : Failed();
}

Status RowOutput::Finish() {
  std::string error;
  if (file_ != nullptr) {
    return file_->Publish(&error) == 0 ? Status::OK() : Status::InvalidArgument(error);
  }
  const Status status = Sync();
  if (!status.ok() || unfinished_path_.empty() || complete_) return status;
  struct stat old {};
  if (stat(path_.c_str(), &old) == 0) fchmod(fileno(stream_), old.st_mode & 07777);
  if (std::rename(unfinished_path_.c_str(), path_.c_str()) != 0) {
    return SystemError("cannot give the rows their name, " + path_);
  }
  complete_ = true;
  return Status::OK();
}

}  // namespace rocksieve::tools
