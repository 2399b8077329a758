// SPDX-License-Identifier: Apache-2.0
// What only later releases of RocksDB ask of a filter policy: keys together with their prefixes
// (9.6), other policies for a running database (9.8), the size that a filter will have (10.9).
#include <atomic>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksieve/metrics.h>

#include "integration/database.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

using BuilderPtr = std::unique_ptr<rocksdb::FilterBitsBuilder>;

BuilderPtr BuilderOf(const rocksdb::FilterPolicy& policy,
                     const rocksdb::BlockBasedTableOptions& table) {
  rocksdb::FilterBuildingContext context(table);
  return BuilderPtr(policy.GetBuilderWithContext(context));
}

class LaterReleases : public testing::Test {
 protected:
  LaterReleases() { table_.optimize_filters_for_memory = false; }
  rocksdb::BlockBasedTableOptions table_;
};

// With RocksDB's own builders as the oracle, in filters one after another.
TEST_F(LaterReleases, KeysAndPrefixesAreCountedAsRocksDbCountsThem) {
  Random random = SeededRandom(1);
  const std::unique_ptr<const rocksdb::FilterPolicy> builtin(rocksdb::NewRibbonFilterPolicy(10));
  const BuilderPtr theirs = BuilderOf(*builtin, table_);
  const PolicyPtr policy = PolicyFor("rocksieve.ribbon:10");
  const BuilderPtr ours = BuilderOf(*policy, table_);
  const auto text = [&](size_t most) {
    std::string made(random() % (most + 1), 'a');
    for (char& c : made) c = static_cast<char>('a' + random() % 3);
    return made;
  };
  for (int filter = 0; filter < 2000; filter++) {
    std::vector<std::string> added;
    for (uint64_t calls = random() % 30; calls > 0; calls--) {
      const std::string key = text(3);
      const std::string alt = random() % 3 == 0 ? text(2) : key.substr(0, 1);
      added.push_back(key);
      if (random() % 3 == 0) {
        theirs->AddKey(key);
        ours->AddKey(key);
      } else {
        theirs->AddKeyAndAlt(key, alt);
        ours->AddKeyAndAlt(key, alt);
        added.push_back(alt);
      }
      ASSERT_EQ(theirs->EstimateEntriesAdded(), ours->EstimateEntriesAdded());
    }
    std::unique_ptr<const char[]> block;
    theirs->Finish(&block);
    const rocksdb::Slice contents = ours->Finish(&block);
    ASSERT_EQ(ours->EstimateEntriesAdded(), 0u);
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(contents));
    for (const std::string& entry : added) ASSERT_TRUE(reader->MayMatch(entry)) << entry;
  }
}

// RocksDB counts the prefixes of iterators apart since 8.3; our metric has them as before.
TEST_F(LaterReleases, PrefixesOfIteratorsAreCounted) {
  const TemporaryDirectory directory;
  DbConfig config("rocksieve.ribbon:10");
  config.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(14));
  config.options.statistics = rocksdb::CreateDBStatistics();
  const DbPtr db = Open(config.Build(), directory / "db");
  WriteOverlappingFiles(db.get(), 1000, 1);
  rocksdb::ReadOptions read;
  const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(read));
  for (uint64_t i = 0; i < 100; i++) iterator->Seek(i % 2 == 0 ? PresentKey(i) : MissingKey(i));
  MetricsSource source;
  source.statistics = config.options.statistics.get();
  std::string text;
  Must(PrometheusText({source}, &text));
  const auto value = [&](const std::string& metric) {
    const size_t at = text.find("\nrocksieve_rocksdb_filter_" + metric + "_total ");
    return at == std::string::npos ? -1 : std::stod(text.substr(text.find(' ', at)));
  };
  EXPECT_EQ(value("prefixes_checked"), 100) << text;
  EXPECT_NEAR(value("prefix_negatives"), 49, 2);
}

#if ROCKSIEVE_ROCKSDB >= 90800
// Keys of its own, and what the database must say of them.
class Worker {
 public:
  Worker(rocksdb::DB* db, uint64_t seed) : db_(db), prefix_(std::to_string(seed)), random_(seed) {}

  void RunUntil(const std::atomic<bool>& stop, std::atomic<uint64_t>* writes) {
    for (; !stop; (*writes)++) {
      const std::string key = prefix_ + PresentKey(random_() % 5000);
      if (random_() % 4 == 0) {
        Must(db_->Delete(rocksdb::WriteOptions(), key));
        oracle_.erase(key);
      } else {
        oracle_[key] = std::to_string(random_());
        Must(db_->Put(rocksdb::WriteOptions(), key, oracle_[key]));
      }
      for (int asked = 0; asked < 4; asked++) Check(prefix_ + NumberedKey(random_() % 10000));
    }
  }
  void CheckAll(rocksdb::DB* db) {
    db_ = db;
    for (uint64_t i = 0; i < 10000; i++) Check(prefix_ + NumberedKey(i));
  }
  const std::string& wrong() const { return wrong_; }

 private:
  void Check(const std::string& key) {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), key, &value);
    const auto expected = oracle_.find(key);
    const bool right =
        expected == oracle_.end() ? status.IsNotFound() : status.ok() && value == expected->second;
    if (!right && wrong_.empty()) wrong_ = key + ": " + status.ToString();
  }

  rocksdb::DB* db_;
  const std::string prefix_;
  Random random_;
  Oracle oracle_;
  std::string wrong_;
};

std::set<std::string> PoliciesOfTables(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(&tables));
  std::set<std::string> names;
  for (const auto& [path, properties] : tables) names.insert(properties->filter_policy_name);
  return names;
}

rocksdb::Status SetPolicy(rocksdb::DB* db, const std::string& policy) {
  return db->SetOptions({{"block_based_table_factory", "{filter_policy=" + policy + ";}"}});
}

// On and off, with other families between, from a wrong spec to a right one: under writers and
// readers, compactions and flushes.
void SwitchUnderLoad(const DbConfig& config) {
  const TemporaryDirectory directory;
  DbPtr db = Open(config.Build(), directory / "db");
  std::vector<Worker> workers;
  for (uint64_t seed = 1; seed <= 3; seed++) workers.emplace_back(db.get(), seed);
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> writes{0};
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&] { worker.RunUntil(stop, &writes); });
  const std::pair<std::string, std::string> kSteps[] = {
      {"rocksieve.ribbon:10", "rocksieve.ribbon:10"},
      {"bloomfilter:10:false", "bloomfilter"},
      {"rocksieve.blom:10", "bloomfilter"},
      {"rocksieve.auto:10", "rocksieve.auto:10"},
      {"nullptr", ""},
      {"rocksieve.ribbon:10:own-name", "rocksieve.ribbon:10:own-name"},
      {"rocksieve.cuckoo:12.5:verified", "rocksieve.cuckoo:12.5:verified"},
  };
  for (int round = 0; round < 2; round++) {
    for (const auto& [policy, name] : kSteps) {
      SCOPED_TRACE(policy);
      for (const uint64_t before = writes; writes < before + 2000;) std::this_thread::yield();
      Must(SetPolicy(db.get(), policy));
      // Files of before, and those that were begun before, go until the second compaction ends.
      for (int compaction = 0; compaction < 2; compaction++) Compact(db.get());
      EXPECT_THAT(PoliciesOfTables(db.get()), testing::Contains(name));
    }
  }
  for (const uint64_t before = writes; writes < before + 2000;) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (Worker& worker : workers) worker.CheckAll(db.get());
  db.reset();
  db = Open(config.Build(), directory / "db");
  for (Worker& worker : workers) {
    worker.CheckAll(db.get());
    EXPECT_EQ(worker.wrong(), "");
  }
}

DbConfig SmallTree() {
  DbConfig config(PolicyPtr(rocksdb::NewBloomFilterPolicy(10)));
  config.options.disable_auto_compactions = false;
  config.options.write_buffer_size = 64 << 10;
  config.options.target_file_size_base = 64 << 10;
  return config;
}

TEST(LivePolicy, SwitchesUnderLoadLoseNoKey) { SwitchUnderLoad(SmallTree()); }

TEST(LivePolicy, SwitchesUnderLoadLoseNoKeyOfPartitionsAndPrefixes) {
  DbConfig config = SmallTree().Partitioned(512);
  config.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(9));
  config.table.decouple_partitioned_filters = true;
  SwitchUnderLoad(config);
}

// The options file of a database that was given a wrong spec names what it really uses.
TEST(LivePolicy, AWrongSpecLeavesRocksDbsFilters) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  DbConfig config("rocksieve.ribbon:10");
  const DbPtr db = Open(config.Build(), path);
  for (const char* wrong : {"rocksieve.ribbon:0", "{id=rocksieve.bloom:10;x=1}", "{x=1}"}) {
    SCOPED_TRACE(wrong);
    testing::internal::CaptureStderr();
    // Whether the call fails is RocksDB's affair; nobody is left without filters.
    const bool taken = SetPolicy(db.get(), wrong).ok();
    WriteOverlappingFiles(db.get(), 1000, 1);
    Compact(db.get());
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr(taken ? "a wrong filter_policy was taken" : ""));
    const std::string used = taken ? "bloomfilter" : "rocksieve.ribbon:10";
    EXPECT_THAT(PoliciesOfTables(db.get()), testing::ElementsAre(used));
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families));
    EXPECT_EQ(LookUp(db.get(), MissingKeys(1000)).found, 0u);
    EXPECT_GT(LookUp(db.get(), MissingKeys(1000)).filters_rejected, 900u);
    Must(SetPolicy(db.get(), "rocksieve.ribbon:10"));
    Compact(db.get());
    EXPECT_THAT(PoliciesOfTables(db.get()), testing::ElementsAre("rocksieve.ribbon:10"));
  }
}
#endif

#if ROCKSIEVE_ROCKSDB >= 100900
TEST_F(LaterReleases, NoFilterIsLargerThanCalculated) {
  for (const char* spec : {"rocksieve.bloom:10", "rocksieve.cuckoo:12.5", "rocksieve.ribbon:1%",
                           "rocksieve.ribbon:10:salted", "rocksieve.auto:10"}) {
    for (const bool fitted : {false, true}) {
      table_.optimize_filters_for_memory = fitted;
      const PolicyPtr policy = PolicyFor(spec);
      const BuilderPtr builder = BuilderOf(*policy, table_);
      for (const uint64_t keys : {1, 10, 100, 1000, 10000, 100000}) {
        for (uint64_t i = 0; i < keys; i++) builder->AddKey(PresentKey(i));
        const size_t most = builder->CalculateSpace(builder->EstimateEntriesAdded());
        std::unique_ptr<const char[]> block;
        const size_t bytes = builder->Finish(&block).size();
        EXPECT_LE(bytes, most) << spec << ", " << keys << " keys";
        EXPECT_GT(builder->EstimatedFpRate(keys, bytes), 0);
        EXPECT_LE(builder->EstimatedFpRate(keys, bytes), 1);
      }
    }
  }
}
#endif

}  // namespace
}  // namespace rocksieve
