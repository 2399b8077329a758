// SPDX-License-Identifier: Apache-2.0
// What the integration tests share: databases in temporary directories, policies from specs, an
// exact oracle, and the counters that tell how many disk reads the filters saved.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/cache.h>
#include <rocksdb/comparator.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksieve/filter_policy.h>
#include <unistd.h>

#include "plugin/database/rocksdb_open.h"

namespace rocksieve {

using PolicyPtr = std::shared_ptr<const rocksdb::FilterPolicy>;
using DbPtr = std::unique_ptr<rocksdb::DB>;
using Oracle = std::map<std::string, std::string>;
using Random = std::mt19937_64;

// Fails the test from wherever it is called, helpers with results included: GoogleTest reports an
// exception as a failure.
inline void Must(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

// Seeds are fixed, and printed so that a failure names the one it came from.
inline Random SeededRandom(uint64_t seed) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return Random(seed);
}

// Calls action(0), action(1), .. at once.
template <typename Action>
void InThreads(int count, const Action& action) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back([&action, i] { action(i); });
  for (std::thread& thread : threads) thread.join();
}

// Orders numbers, which bytes do not.
class ByLength final : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "test.ByLength"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
  }
  void FindShortestSeparator(std::string*, const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "rocksieve_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// An Env that never waits for the disk: databases of tests need not survive a power failure, and on
// slow disks most of their time would go there. Whoever kills a process loses nothing by it.
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

inline PolicyPtr PolicyFor(std::string_view spec) {
  PolicyPtr policy;
  Must(NewFilterPolicy(spec, &policy));
  return policy;
}

inline FilterStats StatsOf(const PolicyPtr& policy) {
  FilterStats stats;
  Must(GetFilterStats(policy.get(), &stats));
  return stats;
}

// Options of a database, to be changed before Build(). The defaults make small files, so that a few
// thousand keys are a tree, and cost no time for what filters have nothing to do with.
struct DbConfig {
  explicit DbConfig(PolicyPtr policy) {
    table.filter_policy = std::move(policy);
    table.block_cache = rocksdb::NewLRUCache(8 << 20);
    // On by default since 9.2: filters would have the sizes that the allocator happens to hand out.
    table.optimize_filters_for_memory = false;
    options.create_if_missing = true;
    options.env = UnsyncedEnv();
    options.compression = rocksdb::kNoCompression;
    options.disable_auto_compactions = true;
    options.write_buffer_size = 64 << 20;
  }
  explicit DbConfig(std::string_view spec) : DbConfig(PolicyFor(spec)) {}

  // Many small partitions, of filter and index alike.
  DbConfig& Partitioned(uint64_t partition_bytes) {
    table.partition_filters = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = partition_bytes;
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 906
    // Else each full partition is followed by one of a single data block.
    table.decouple_partitioned_filters = true;
#endif
    return *this;
  }

  rocksdb::Options Build() const {
    rocksdb::Options built = options;
    built.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    return built;
  }

  rocksdb::Options options;
  rocksdb::BlockBasedTableOptions table;
};

inline DbPtr Open(const rocksdb::Options& options, const std::string& path) {
  DbPtr db;
  Must(rocksdb::DB::Open(options, path, Into(&db)));
  return db;
}

inline DbPtr OpenReadOnly(const rocksdb::Options& options, const std::string& path) {
  DbPtr db;
  Must(rocksdb::DB::OpenForReadOnly(options, path, Into(&db)));
  return db;
}

// Even numbers are written and odd ones are not, so that every missing key lies within the range of
// the files and only their filters can tell.
inline std::string NumberedKey(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "key%011llu", static_cast<unsigned long long>(number));
  return text;
}
inline std::string PresentKey(uint64_t i) { return NumberedKey(2 * i); }
inline std::string MissingKey(uint64_t i) { return NumberedKey(2 * i + 1); }

inline std::vector<std::string> MissingKeys(uint64_t count) {
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < count; i++) keys.push_back(MissingKey(i));
  return keys;
}

inline void Flush(rocksdb::DB* db) { Must(db->Flush(rocksdb::FlushOptions())); }
inline void Compact(rocksdb::DB* db) {
  rocksdb::CompactRangeOptions everything;
  everything.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  Must(db->CompactRange(everything, nullptr, nullptr));
}

// PresentKey(0 .. keys), spread over `files` level 0 files that all cover the whole range.
inline Oracle WriteOverlappingFiles(rocksdb::DB* db, uint64_t keys, uint64_t files) {
  Oracle oracle;
  for (uint64_t file = 0; file < files; file++) {
    for (uint64_t i = file; i < keys; i += files) {
      const std::string key = PresentKey(i), value = "value of " + key;
      Must(db->Put(rocksdb::WriteOptions(), key, value));
      oracle[key] = value;
    }
    Flush(db);
  }
  return oracle;
}

// What looking up keys cost.
struct LookupCost {
  uint64_t found = 0;
  uint64_t data_block_reads = 0;
  uint64_t filters_passed = 0;    // filter probes answered "may match"
  uint64_t filters_rejected = 0;  // and those answered "not here"

  double pass_rate() const {
    return static_cast<double>(filters_passed) /
           static_cast<double>(filters_passed + filters_rejected);
  }
};

inline LookupCost CostSince(uint64_t found) {
  const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  LookupCost cost;
  cost.found = found;
  cost.data_block_reads =
      perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  cost.filters_passed = perf.bloom_sst_hit_count;
  cost.filters_rejected = perf.bloom_sst_miss_count;
  return cost;
}

// Data blocks are never served from the cache, so that every one needed counts as a read.
inline LookupCost LookUp(rocksdb::DB* db, const std::vector<std::string>& keys) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  rocksdb::get_perf_context()->Reset();
  uint64_t found = 0;
  std::string value;
  for (const std::string& key : keys) {
    const rocksdb::Status status = db->Get(read, key, &value);
    if (!status.IsNotFound()) {
      Must(status);
      found++;
    }
  }
  return CostSince(found);
}

// Of keys that are missing, with an exact count of reads: opening files, and partitions that are
// loaded, would count too.
inline LookupCost LookUpMissing(DbConfig config, const std::string& path,
                                const std::vector<std::string>& missing) {
  config.table.no_block_cache = !config.table.partition_filters;
  const DbPtr db = OpenReadOnly(config.Build(), path);
  const size_t first = config.table.partition_filters ? missing.size() : 1000;
  LookUp(db.get(), {missing.begin(), missing.begin() + static_cast<ptrdiff_t>(first)});
  const LookupCost cost = LookUp(db.get(), missing);
  EXPECT_EQ(cost.found, 0u);
  return cost;
}

// The database holds what the oracle holds and nothing else: asked key by key, which uses the
// filters, and by a scan, which does not.
inline void ExpectHolds(rocksdb::DB* db, const Oracle& oracle,
                        const std::vector<std::string>& missing = {},
                        const rocksdb::Snapshot* snapshot = nullptr,
                        rocksdb::ColumnFamilyHandle* family = nullptr) {
  if (family == nullptr) family = db->DefaultColumnFamily();
  rocksdb::ReadOptions read;
  read.snapshot = snapshot;
  read.fill_cache = false;  // leaves LookUp() its reads
  uint64_t wrong = 0;
  std::string first_wrong, value;
  const auto expect = [&](bool right, const std::string& key) {
    if (!right && wrong++ == 0) first_wrong = key;
  };
  for (const auto& [key, expected] : oracle) {
    const rocksdb::Status status = db->Get(read, family, key, &value);
    expect(status.ok() && value == expected, key);
  }
  for (const std::string& key : missing) {
    if (oracle.count(key) == 0) expect(db->Get(read, family, key, &value).IsNotFound(), key);
  }
  EXPECT_EQ(wrong, 0u) << "Get() answers wrongly, first for " << first_wrong;

  read.total_order_seek = true;
  std::unique_ptr<rocksdb::Iterator> scan(db->NewIterator(read, family));
  Oracle scanned;
  for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {
    scanned.emplace(scan->key().ToString(), scan->value().ToString());
  }
  Must(scan->status());
  EXPECT_TRUE(scanned == oracle) << "a scan has " << scanned.size() << " keys, expected are "
                                 << oracle.size();
}

// Properties of all tables, added up.
inline rocksdb::TableProperties TotalProperties(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(&tables));
  rocksdb::TableProperties total;
  for (const auto& [path, properties] : tables) total.Add(*properties);
  return total;
}

inline double FilterBitsPerEntry(const rocksdb::TableProperties& properties) {
  return 8.0 * static_cast<double>(properties.filter_size) /
         static_cast<double>(properties.num_entries);
}

}  // namespace rocksieve
