// SPDX-License-Identifier: Apache-2.0
// Those who look at a database: beside an owner who never pauses, but writes, flushes and compacts
// in threads of its own as fast as it can, so that files come and go all the time; and without a
// trace.
#pragma once

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include <rocksdb/write_batch.h>

#include "integration/database.h"

namespace rocksieve {

class BusyOwner {
 public:
  static constexpr int kSlots = 50;

  BusyOwner(const rocksdb::Options& options, const std::string& path, int batches_per_flush = 97)
      : batches_per_flush_(batches_per_flush), db_(Open(options, path)) {
    thread_ = std::thread([this] { Work(); });
    while (written_ < kSlots) std::this_thread::yield();
  }
  ~BusyOwner() {
    stop_ = true;
    thread_.join();
  }

  static rocksdb::Options Options(const DbConfig& config) {
    rocksdb::Options options = config.Build();
    options.disable_auto_compactions = false;
    options.level0_file_num_compaction_trigger = 2;
    return options;
  }

  int written() const { return written_; }

  // What the database must hold if its last batch is number `last`.
  static Oracle RowsAfter(int last) {
    Oracle rows = {{"last", std::to_string(last)}};
    for (int i = std::max(1, last - kSlots + 1); i <= last; i++) {
      rows["slot" + std::to_string(i % kSlots)] = std::to_string(i);
    }
    return rows;
  }

 private:
  // Each batch writes its number under "last" and under one of the slots: whatever moment somebody
  // sees, its number tells what the slots must have.
  void Work() {
    for (int i = 1; !stop_; i++) {
      rocksdb::WriteBatch batch;
      Must(batch.Put("last", std::to_string(i)));
      Must(batch.Put("slot" + std::to_string(i % kSlots), std::to_string(i)));
      Must(db_->Write(rocksdb::WriteOptions(), &batch));
      written_ = i;
      if (i % batches_per_flush_ == 0) Flush(db_.get());
    }
  }

  const int batches_per_flush_;
  const DbPtr db_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> written_ = 0;
  std::thread thread_;
};

// How often a test looks beside a busy owner: ROCKSIEVE_LOOKS, or as often as `usually`.
inline int LooksBesideABusyOwner(int usually) {
  const char* const looks = std::getenv("ROCKSIEVE_LOOKS");
  return looks == nullptr ? usually : std::atoi(looks);
}

// Everything about a directory that writing would change, but for files of that name.
inline std::map<std::string, std::string> StateOf(const std::string& directory,
                                                  const std::string& but_for = "") {
  std::map<std::string, std::string> state;
  const auto add = [&state](const std::string& path) -> std::string& {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0) throw std::runtime_error("lstat");
    return state[path] = std::to_string(status.st_ino) + " " + std::to_string(status.st_size) +
                         " " + std::to_string(status.st_mtim.tv_sec) + "." +
                         std::to_string(status.st_mtim.tv_nsec) + " ";
  };
  add(directory);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == but_for) continue;
    std::string& described = add(entry.path());
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    described.append(std::istreambuf_iterator<char>(file), {});
  }
  return state;
}

}  // namespace rocksieve
