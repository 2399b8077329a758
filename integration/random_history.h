// SPDX-License-Identifier: Apache-2.0
// Databases with random histories of all that RocksDB can do to a row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

namespace rocksieve::join {

// By a scan; wide columns as "[name=value]" each.
std::map<std::string, std::string> RowsOf(rocksdb::DB* db);
// What a history is made with.
struct HistorySetting {
  std::string name;
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
  uint32_t dictionary_bytes = 0;
  int format_version = 5;
  rocksdb::BlockBasedTableOptions::IndexType index = rocksdb::BlockBasedTableOptions::kBinarySearch;
  bool filters = true, partitioned_filters = false;
  rocksdb::CompactionStyle style = rocksdb::kCompactionStyleLevel;
  bool blobs = false;
  rocksdb::ChecksumType checksum = rocksdb::kXXH3;
  bool compact_often = true;
  bool only_plain = false;
  bool forgets = false;  // a compaction filter removes some values
  bool merges = true;
  bool journal = false;  // is kept (rocksieve::NewJournal())
  bool is_known = true;  // files can be read without RocksDB
};

std::vector<HistorySetting> HistorySettings();
void PrintTo(const HistorySetting& setting, std::ostream* out);

// Two with the same setting and seed do the same to their rows, if they live the same.
class RandomHistory {
 public:
  RandomHistory(const HistorySetting& setting, uint64_t seed, const std::string& directory);

  rocksdb::DB* db() const { return db_.get(); }
  void Close() { db_.reset(); }
  // Closes it, if it is open.
  void Reopen(const rocksdb::Options& options);
  const rocksdb::Options& options() const { return options_; }

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  // So many writes, and then, now and then, a flush, a compaction, an ingested file, or files that
  // are dropped.
  void Live(int writes);
  void Write();

 private:
  std::string Key();
  std::string Value();
  void Ingest();

  const HistorySetting setting_;
  const std::string directory_;
  std::mt19937_64 random_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace rocksieve::join
