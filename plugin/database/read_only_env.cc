// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/snapshot_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "support/files.h"

namespace rocksieve {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystemWrapper;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class EmptyFile final : public rocksdb::FSSequentialFile {
 public:
  IOStatus Read(size_t, const IOOptions&, rocksdb::Slice* result, char*, IODebugContext*) override {
    *result = rocksdb::Slice();
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t) override { return IOStatus::OK(); }
};

bool IsWriteAheadLog(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const size_t digits = name.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string::npos && name.substr(digits) == ".log";
}

IOStatus Refused(const std::string& path) {
  return IOStatus::NotSupported("the database is only looked at: nothing is written to " + path);
}

// A pipe in the place of a file would be waited for without end.
IOStatus CheckIsRegular(const std::string& path) {
  struct stat state {};
  if (stat(path.c_str(), &state) != 0 || S_ISREG(state.st_mode)) return IOStatus::OK();
  return IOStatus::IOError(path,
                           S_ISDIR(state.st_mode) ? "it is a directory" : "it is no regular file");
}

class ReadOnlyFileSystem final : public FileSystemWrapper {
 public:
  ReadOnlyFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, WriteAheadLogs logs)
      : FileSystemWrapper(base), logs_(logs) {}
  const char* Name() const override { return "rocksieve.ReadOnlyFileSystem"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    if (logs_ == WriteAheadLogs::kAreRead || !IsWriteAheadLog(path)) {
      const IOStatus status = CheckIsRegular(path);
      return status.ok() ? target()->NewSequentialFile(path, options, file, debug) : status;
    }
    *file = std::make_unique<EmptyFile>();
    return IOStatus::OK();
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    const IOStatus status = CheckIsRegular(path);
    return status.ok() ? target()->NewRandomAccessFile(path, options, file, debug) : status;
  }

  IOStatus NewWritableFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions&,
                              std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string&, const FileOptions&,
                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus NewMemoryMappedFileBuffer(const std::string& path,
                                     std::unique_ptr<rocksdb::MemoryMappedFileBuffer>*) override {
    return Refused(path);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions&,
                        std::unique_ptr<rocksdb::FSDirectory>*, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus NewLogger(const std::string& path, const IOOptions&, std::shared_ptr<rocksdb::Logger>*,
                     IODebugContext*) override {
    return Refused(path);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus Truncate(const std::string& path, size_t, const IOOptions&, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus CreateDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions&, IODebugContext*) override {
    return Refused(path);
  }
  IOStatus RenameFile(const std::string& from, const std::string&, const IOOptions&,
                      IODebugContext*) override {
    return Refused(from);
  }
  IOStatus LinkFile(const std::string& from, const std::string&, const IOOptions&,
                    IODebugContext*) override {
    return Refused(from);
  }
  IOStatus LockFile(const std::string& path, const IOOptions&, rocksdb::FileLock**,
                    IODebugContext*) override {
    return Refused(path);
  }

 private:
  const WriteAheadLogs logs_;
};

rocksdb::Env* NewEnv(WriteAheadLogs logs) {
  return rocksdb::NewCompositeEnv(
             std::make_shared<ReadOnlyFileSystem>(rocksdb::FileSystem::Default(), logs))
      .release();
}

using rocksdb::Slice;

IOStatus Failed(const std::string& what, const std::string& path, int error) {
  const std::string text = "While " + what + " " + path;
  return error == ENOENT ? IOStatus::PathNotFound(text, std::strerror(error))
                         : IOStatus::IOError(text, std::strerror(error));
}

class RandomAccess final : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomAccess(std::shared_ptr<const HeldFile> file) : file_(std::move(file)) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    return file_->Read(offset, bytes, result, scratch);
  }
  IOStatus Prefetch(uint64_t offset, size_t bytes, const IOOptions&, IODebugContext*) override {
    const auto from = static_cast<off64_t>(offset);
    return readahead(file_->descriptor(), from, bytes) == 0 ? IOStatus::OK()
                                                            : IOStatus::NotSupported("readahead");
  }
  void Hint(AccessPattern pattern) override {
    if (pattern != kRandom && pattern != kSequential) return;
    const int advice = pattern == kRandom ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL;
    posix_fadvise(file_->descriptor(), 0, 0, advice);  // only advice
  }

 private:
  const std::shared_ptr<const HeldFile> file_;
};

class SequentialAccess final : public rocksdb::FSSequentialFile {
 public:
  SequentialAccess(std::shared_ptr<const HeldFile> file, uint64_t end)
      : file_(std::move(file)), end_(end) {}

  IOStatus Read(size_t bytes, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    const uint64_t left = end_ - std::min(end_, offset_);
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(bytes, left));
    IOStatus status = file_->Read(offset_, wanted, result, scratch);
    if (status.ok()) offset_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t bytes) override {
    offset_ += std::min(bytes, end_ - std::min(end_, offset_));
    return IOStatus::OK();
  }

 private:
  const std::shared_ptr<const HeldFile> file_;
  const uint64_t end_;
  uint64_t offset_ = 0;
};

}  // namespace

// Never deleted: RocksDB's background threads may outlive static objects.
rocksdb::Env* ReadOnlyEnv(WriteAheadLogs logs) {
  static rocksdb::Env* const without_logs = NewEnv(WriteAheadLogs::kLookEmpty);
  static rocksdb::Env* const with_logs = NewEnv(WriteAheadLogs::kAreRead);
  return logs == WriteAheadLogs::kAreRead ? with_logs : without_logs;
}

IOStatus HeldFile::Open(const std::string& path, std::shared_ptr<const HeldFile>* file) {
  int descriptor;
  do {
    descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // no pipe is waited for
  } while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) return Failed("opening", path, errno);
  const std::shared_ptr<const HeldFile> opened(new HeldFile(path, descriptor));
  struct stat state {};
  if (fstat(descriptor, &state) != 0) return Failed("looking at", path, errno);
  if (!S_ISREG(state.st_mode)) return IOStatus::IOError(path, "it is no regular file");
  *file = opened;
  return IOStatus::OK();
}

HeldFile::~HeldFile() { close(descriptor_); }

IOStatus HeldFile::LinkTo(const std::string& name) const {
  const std::string open_path = "/proc/self/fd/" + std::to_string(descriptor_);
  if (linkat(AT_FDCWD, open_path.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return IOStatus::OK();
  }
  if (errno != EXDEV) return Failed("linking", path_, errno);
  return IOStatus::InvalidArgument(path_ + " and " + name +
                                   " are on different file systems: keep states on that of the "
                                   "database");
}

IOStatus HeldFile::CopyTo(const std::string& name, uint64_t most_bytes) const {
  std::string error;
  const std::unique_ptr<PendingFile> copy = PendingFile::Create(name, &error);
  if (copy == nullptr) return IOStatus::IOError(error);
  std::string scratch(size_t{1} << 20, '\0');
  for (uint64_t offset = 0; offset < most_bytes;) {
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(scratch.size(), most_bytes - offset));
    Slice part;
    IOStatus status = Read(offset, wanted, &part, scratch.data());
    if (!status.ok()) return status;
    if (part.empty()) break;
    if (!copy->Append({part.data(), part.size()}, &error)) return IOStatus::IOError(error);
    offset += part.size();
  }
  return copy->Publish(&error) == 0 ? IOStatus::OK() : IOStatus::IOError(error);
}

IOStatus HeldFile::Size(uint64_t* bytes) const {
  struct stat state {};
  if (fstat(descriptor_, &state) != 0) return Failed("asking for the size of", path_, errno);
  *bytes = static_cast<uint64_t>(state.st_size);
  return IOStatus::OK();
}

IOStatus HeldFile::Read(uint64_t offset, size_t bytes, Slice* result, char* scratch) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(descriptor_, scratch + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("reading", path_, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  *result = Slice(scratch, done);
  return IOStatus::OK();
}

bool HeldFile::IsAt(const std::string& path) const {
  struct stat there {
  }, held{};
  return stat(path.c_str(), &there) == 0 && fstat(descriptor_, &held) == 0 &&
         there.st_dev == held.st_dev && there.st_ino == held.st_ino;
}

std::unique_ptr<rocksdb::FSRandomAccessFile> RandomAccessTo(std::shared_ptr<const HeldFile> file) {
  return std::make_unique<RandomAccess>(std::move(file));
}

std::unique_ptr<rocksdb::FSSequentialFile> SequentialAccessTo(std::shared_ptr<const HeldFile> file,
                                                              uint64_t end) {
  return std::make_unique<SequentialAccess>(std::move(file), end);
}

}  // namespace rocksieve
