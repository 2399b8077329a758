// SPDX-License-Identifier: Apache-2.0
#include "plugin/database/read_only_env.h"

#include <sys/stat.h>

#include <string>

#include <rocksdb/file_system.h>

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

}  // namespace

// Never deleted: RocksDB's background threads may outlive static objects.
rocksdb::Env* ReadOnlyEnv(WriteAheadLogs logs) {
  static rocksdb::Env* const without_logs = NewEnv(WriteAheadLogs::kLookEmpty);
  static rocksdb::Env* const with_logs = NewEnv(WriteAheadLogs::kAreRead);
  return logs == WriteAheadLogs::kAreRead ? with_logs : without_logs;
}

}  // namespace rocksieve
