// SPDX-License-Identifier: Apache-2.0
// Databases opened in other ways, column families, and threads.
#include <atomic>
#include <thread>

#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>

#include "integration/database.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

// Other ways to get at a database: read-only and secondary instances, and files that were written
// outside of it.

constexpr uint64_t kKeysOfOne = 10000, kFiles = 3;

class Instances : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  // A policy of its own each time, as another process would have.
  DbConfig Config() const {
    DbConfig config(std::get<0>(GetParam()));
    if (std::get<1>(GetParam())) config.Partitioned(1024);
    return config;
  }
  void ExpectFiltered(rocksdb::DB* db, uint64_t files) const {
    EXPECT_GT(LookUp(db, missing_).filters_rejected, files * missing_.size() * 95 / 100);
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  const std::vector<std::string> missing_ = MissingKeys(3000);
};

TEST_P(Instances, ReadOnlyBesideTheOneThatWrites) {
  const DbPtr primary = Open(Config().Build(), path_);
  const Oracle oracle = WriteOverlappingFiles(primary.get(), kKeysOfOne, kFiles);
  const DbPtr reader = OpenReadOnly(Config().Build(), path_);
  Must(primary->Put(rocksdb::WriteOptions(), "later", "not for the reader"));
  Compact(primary.get());  // the files that the reader has open are deleted
  ExpectHolds(reader.get(), oracle, missing_);
  ExpectFiltered(reader.get(), kFiles);
}

TEST_P(Instances, SecondaryCatchesUp) {
  const DbPtr primary = Open(Config().Build(), path_);
  Oracle oracle = WriteOverlappingFiles(primary.get(), kKeysOfOne, kFiles);
  DbConfig config = Config();
  const PolicyPtr policy = config.table.filter_policy;
  config.options.max_open_files = -1;
  DbPtr secondary;
  Must(rocksdb::DB::OpenAsSecondary(config.Build(), path_, directory_ / "secondary",
                                    Into(&secondary)));
  ExpectHolds(secondary.get(), oracle, missing_);
  ExpectFiltered(secondary.get(), kFiles);

  for (uint64_t round = 1; round <= 3; round++) {
    SCOPED_TRACE(round);
    const uint64_t filters_before = StatsOf(policy).filters_opened;
    for (uint64_t i = round; i < kKeysOfOne; i += 7) {
      if (i % 2 == 0) {
        Must(primary->Delete(rocksdb::WriteOptions(), PresentKey(i)));
        oracle.erase(PresentKey(i));
      } else {
        oracle[PresentKey(kKeysOfOne + i)] = std::to_string(round);
        Must(primary->Put(rocksdb::WriteOptions(), PresentKey(kKeysOfOne + i),
                          std::to_string(round)));
      }
    }
    Flush(primary.get());
    if (round == 2) Compact(primary.get());
    Must(secondary->TryCatchUpWithPrimary());
    ExpectHolds(secondary.get(), oracle, missing_);
    ExpectFiltered(secondary.get(), 1);
    EXPECT_GT(StatsOf(policy).filters_opened, filters_before);
  }
}

TEST_P(Instances, FilesFromOutsideAreIngestedWithTheirFilters) {
  const DbConfig writer_config = Config();
  Oracle oracle;
  std::vector<std::string> files;
  for (uint64_t file = 0; file < kFiles; file++) {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), writer_config.Build());
    files.push_back(directory_ / (std::to_string(file) + ".sst"));
    Must(writer.Open(files.back()));
    for (uint64_t i = file * kKeysOfOne; i < (file + 1) * kKeysOfOne; i++) {
      const std::string key = PresentKey(i), value = "ingested " + key;
      oracle[key] = value;
      Must(writer.Put(key, value));
    }
    Must(writer.Finish());
    Must(rocksdb::SstFileReader(writer_config.Build()).Open(files.back()));
  }
  EXPECT_EQ(StatsOf(writer_config.table.filter_policy).keys_added, kFiles * kKeysOfOne);

  const DbConfig config = Config();
  const DbPtr db = Open(config.Build(), path_);
  for (uint64_t i = 0; i < kKeysOfOne;
       i += 3) {  // older versions of some keys, and one deleted later
    Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), "older"));
  }
  Must(db->IngestExternalFile(files, rocksdb::IngestExternalFileOptions()));
  Must(db->Delete(rocksdb::WriteOptions(), PresentKey(7)));
  oracle.erase(PresentKey(7));
  Flush(db.get());
  ExpectHolds(db.get(), oracle, missing_);
  ExpectFiltered(db.get(), 1);
  EXPECT_GE(StatsOf(config.table.filter_policy).filters_opened, kFiles);
}

// A policy may be shared by databases, and outlive all of them.
TEST_P(Instances, DatabasesThatShareAPolicy) {
  const DbConfig config = Config();
  Oracle oracle;
  for (const char* name : {"first", "second"}) {
    const DbPtr db = Open(config.Build(), directory_ / name);
    oracle = WriteOverlappingFiles(db.get(), kKeysOfOne / 10, 1);
    ExpectHolds(db.get(), oracle, missing_);
  }
  const DbPtr first = Open(config.Build(), directory_ / "first");
  const DbPtr second = Open(config.Build(), directory_ / "second");
  ExpectHolds(first.get(), oracle, missing_);
  ExpectHolds(second.get(), oracle, missing_);
  EXPECT_EQ(StatsOf(config.table.filter_policy).keys_added, 2 * oracle.size());
}

INSTANTIATE_TEST_SUITE_P(All, Instances,
                         testing::Combine(testing::Values("rocksieve.bloom:10",
                                                          "rocksieve.cuckoo:12.5"),
                                          testing::Bool()));

// Column families with filters of different kinds in one database.

constexpr uint64_t kKeysPerFamily = 8000;

struct FamilyCase {
  const char* name;
  const char* spec;  // null: RocksDB's own Bloom filter
  bool partitioned;
};

constexpr FamilyCase kFamilyCases[] = {
    {"default", "rocksieve.bloom:10", false},
    {"cuckoo", "rocksieve.cuckoo:12.5", true},
    {"rate", "rocksieve.bloom:0.1%", true},
    {"salted", "rocksieve.cuckoo:10:salted", false},
    {"stock", nullptr, false},
};

class ColumnFamilies : public testing::Test {
 protected:
  ColumnFamilies() {
    for (const FamilyCase& family : kFamilyCases) {
      const PolicyPtr policy = family.spec != nullptr
                                   ? PolicyFor(family.spec)
                                   : PolicyPtr(rocksdb::NewBloomFilterPolicy(10));
      DbConfig config(policy);
      config.table.block_cache = cache_;  // one for all
      if (family.partitioned) config.Partitioned(1024);
      descriptors_.emplace_back(family.name, config.Build());
      policies_.push_back(policy);
    }
  }
  ~ColumnFamilies() override { Close(); }

  void OpenAll() {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.env = UnsyncedEnv();
    Must(rocksdb::DB::Open(options, directory_ / "db", descriptors_, &handles_, Into(&db_)));
  }
  void Close() {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) delete handle;
    handles_.clear();
    db_.reset();
  }

  TemporaryDirectory directory_;
  const std::shared_ptr<rocksdb::Cache> cache_ = rocksdb::NewLRUCache(4 << 20);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors_;
  std::vector<PolicyPtr> policies_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  DbPtr db_;
};

TEST_F(ColumnFamilies, EachHasItsOwnFilters) {
  OpenAll();
  const size_t count = handles_.size();
  std::vector<Oracle> oracles(count);
  for (uint64_t i = 0; i < kKeysPerFamily; i++) {
    // Every family lacks some keys that its neighbours have.
    for (size_t family = 0; family < count; family++) {
      if (i % count == family) continue;
      const std::string key = PresentKey(i), value = kFamilyCases[family].name + key;
      Must(db_->Put(rocksdb::WriteOptions(), handles_[family], key, value));
      oracles[family][key] = value;
    }
  }
  Must(db_->Flush(rocksdb::FlushOptions(), handles_));
  Close();
  OpenAll();
  std::vector<std::string> all_keys = MissingKeys(1000);
  for (uint64_t i = 0; i < kKeysPerFamily; i++) all_keys.push_back(PresentKey(i));
  for (size_t family = 0; family < count; family++) {
    SCOPED_TRACE(kFamilyCases[family].name);
    rocksdb::get_perf_context()->Reset();
    ExpectHolds(db_.get(), oracles[family], all_keys, nullptr, handles_[family]);
    EXPECT_GT(CostSince(0).filters_rejected, (kKeysPerFamily / count + 1000) * 9 / 10);
    if (kFamilyCases[family].spec == nullptr) continue;
    const FilterStats stats = StatsOf(policies_[family]);
    EXPECT_EQ(stats.keys_added, oracles[family].size());
    EXPECT_EQ(stats.foreign_filters_opened + stats.damaged_filters, 0u);
  }
}

TEST_F(ColumnFamilies, OneCanBeAddedAndDropped) {
  OpenAll();
  const PolicyPtr policy = PolicyFor("rocksieve.cuckoo:2%");
  rocksdb::ColumnFamilyHandle* added = nullptr;
  Must(db_->CreateColumnFamily(DbConfig(policy).Build(), "added", &added));
  Oracle oracle;
  for (uint64_t i = 0; i < 1000; i++) {
    oracle[PresentKey(i)] = "added";
    Must(db_->Put(rocksdb::WriteOptions(), added, PresentKey(i), "added"));
  }
  Must(db_->Flush(rocksdb::FlushOptions(), added));
  ExpectHolds(db_.get(), oracle, MissingKeys(1000), nullptr, added);
  EXPECT_EQ(StatsOf(policy).filters_built, 1u);
  Must(db_->DropColumnFamily(added));
  delete added;
  // The policy outlives its column family.
  EXPECT_EQ(StatsOf(policy).keys_added, 1000u);
}

// Many threads at once: on one policy, on one filter, and on one database.

std::string BuildBlock(const PolicyPtr& policy, uint64_t keys) {
  const rocksdb::BlockBasedTableOptions options;
  const rocksdb::FilterBuildingContext context(options);
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  for (uint64_t i = 0; i < keys; i++) builder->AddKey(PresentKey(i));
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

class Threads : public testing::TestWithParam<const char*> {};

TEST_P(Threads, ShareAPolicyWhileEachBuildsAndAsks) {
  constexpr uint64_t kKeys = 500;
  constexpr int kThreads = 4, kRounds = 20;
  const PolicyPtr policy = PolicyFor(GetParam());
  std::atomic<uint64_t> rejected{0};
  InThreads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; round++) {
      const std::string block = BuildBlock(policy, kKeys);
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(block));
      for (uint64_t i = 0; i < kKeys; i++) rejected += reader->MayMatch(PresentKey(i)) ? 0 : 1;
      StatsOf(policy);
      PolicyFor(GetParam());
    }
  });
  EXPECT_EQ(rejected, 0u);
  EXPECT_EQ(StatsOf(policy).filters_built, uint64_t{kThreads * kRounds});
  EXPECT_EQ(StatsOf(policy).filters_opened, uint64_t{kThreads * kRounds});
  EXPECT_EQ(StatsOf(policy).keys_added, kKeys * kThreads * kRounds);
}

TEST_P(Threads, ShareAFilter) {
  constexpr uint64_t kKeys = 2000;
  const PolicyPtr policy = PolicyFor(GetParam());
  const std::string block = BuildBlock(policy, kKeys);
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(block));
  std::atomic<uint64_t> rejected{0};
  InThreads(4, [&](int thread) {
    for (uint64_t i = 0; i + 4 <= kKeys; i++) {
      if (thread % 2 == 0) {
        rejected += reader->MayMatch(PresentKey(i)) ? 0 : 1;
        continue;
      }
      std::string keys[4];
      rocksdb::Slice slices[4];
      rocksdb::Slice* pointers[4];
      bool may_match[4];
      for (uint64_t k = 0; k < 4; k++) {
        keys[k] = PresentKey(i + k);
        slices[k] = keys[k];
        pointers[k] = &slices[k];
      }
      reader->MayMatch(4, pointers, may_match);
      for (const bool match : may_match) rejected += match ? 0 : 1;
    }
  });
  EXPECT_EQ(rejected, 0u);
}

// Keys are written in order, while readers look for those that are there already and flushes and
// compactions replace the files under them.
TEST_P(Threads, ReadWhileOneWrites) {
  constexpr uint64_t kKeys = 40000;
  const TemporaryDirectory directory;
  DbConfig config(GetParam());
  config.Partitioned(1024);
  config.table.block_cache = rocksdb::NewLRUCache(64 << 10);  // filters come and go
  config.table.cache_index_and_filter_blocks = true;
  config.options.disable_auto_compactions = false;
  config.options.write_buffer_size = 64 << 10;
  config.options.level0_file_num_compaction_trigger = 2;
  config.options.target_file_size_base = 64 << 10;
  const DbPtr db = Open(config.Build(), directory / "db");
  std::atomic<uint64_t> written{0}, lost{0}, invented{0}, asked{0};
  const auto read = [&](uint64_t seed) {
    Random random = SeededRandom(seed);
    while (written < kKeys) {
      const uint64_t there = written;
      if (there == 0) continue;
      std::string value;
      const uint64_t i = random() % there;
      lost += db->Get(rocksdb::ReadOptions(), PresentKey(i), &value).ok() ? 0 : 1;
      invented += db->Get(rocksdb::ReadOptions(), MissingKey(i), &value).IsNotFound() ? 0 : 1;
      asked++;
    }
  };
  std::thread first(read, 1), second(read, 2);
  rocksdb::Status status;
  for (uint64_t i = 0; i < kKeys && status.ok(); i++) {
    status = db->Put(rocksdb::WriteOptions(), PresentKey(i), "value");
    // And an old one again, so that files overlap and compactions have work.
    if (status.ok()) status = db->Put(rocksdb::WriteOptions(), PresentKey(i / 2), "again");
    written = i + 1;
  }
  written = kKeys;
  first.join();
  second.join();
  Must(status);
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(invented, 0u);
  EXPECT_GT(asked, 100u);
  EXPECT_GT(StatsOf(config.table.filter_policy).filters_opened, 50u);
}

INSTANTIATE_TEST_SUITE_P(Specs, Threads,
                         testing::Values("rocksieve.bloom:10:salted", "rocksieve.cuckoo:12.5"));

}  // namespace
}  // namespace rocksieve
