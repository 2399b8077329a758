// An Env that never waits for the disk: databases of tests need not survive a power failure, and on
// slow disks most of their time would go there. Whoever kills a process loses nothing by it.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

namespace rocksieve {

class UnsyncedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus RangeSync(uint64_t, uint64_t, const rocksdb::IOOptions&,
                              rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
};

class UnsyncedDirectory final : public rocksdb::FSDirectory {
 public:
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
    return rocksdb::IOStatus::OK();
  }
};

class UnsyncedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  UnsyncedFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "UnsyncedFileSystem"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    return Unsynced(target()->NewWritableFile(name, options, file, debug), file);
  }
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override {
    return Unsynced(target()->ReopenWritableFile(name, options, file, debug), file);
  }
  rocksdb::IOStatus NewDirectory(const std::string&, const rocksdb::IOOptions&,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext*) override {
    directory->reset(new UnsyncedDirectory);
    return rocksdb::IOStatus::OK();
  }

 private:
  static rocksdb::IOStatus Unsynced(rocksdb::IOStatus status,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file) {
    if (status.ok()) file->reset(new UnsyncedFile(std::move(*file)));
    return status;
  }
};

// Lives as long as the process: databases use it to their end.
inline rocksdb::Env* UnsyncedEnv() {
  static rocksdb::Env* const env =
      rocksdb::NewCompositeEnv(std::make_shared<UnsyncedFileSystem>()).release();
  return env;
}

}  // namespace rocksieve
