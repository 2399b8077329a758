// SPDX-License-Identifier: Apache-2.0
// The policy of rocksieve.auto, and several databases and column families that share one.
#include <fstream>
#include <mutex>
#include <sstream>

#include <rocksdb/convenience.h>
#include <rocksdb/sst_file_writer.h>

#include "integration/tree.h"

namespace rocksieve {
namespace {

// rocksieve.auto as a policy: specs, option strings, its word in the log, and files outside of
// trees.

std::string LogOf(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path + "/LOG").rdbuf();
  return text.str();
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

TEST(AutoPolicy, HasItsSpecForAnId) {
  EXPECT_EQ(PolicyFor("rocksieve.auto:10")->GetId(), "rocksieve.auto:10");
  EXPECT_EQ(PolicyFor("rocksieve.auto:010.0:ribbon+bloom:read-ns-5")->GetId(),
            "rocksieve.auto:10:bloom+ribbon:read-ns-5");
  EXPECT_STREQ(PolicyFor("rocksieve.auto:10")->CompatibilityName(),
               PolicyPtr(rocksdb::NewBloomFilterPolicy(10))->CompatibilityName());
}

TEST(AutoPolicy, NamesMistakes) {
  PolicyPtr policy;
  const rocksdb::Status status = NewFilterPolicy("rocksieve.auto:1%", &policy);
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_NE(status.ToString().find("\"1%\" is not a budget"), std::string::npos);

  rocksdb::Options options;
  Must(rocksdb::GetOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::Options(),
      "create_if_missing=true;block_based_table_factory={filter_policy=rocksieve.auto:99}",
      &options));
  const TemporaryDirectory directory;
  DbPtr db;
  EXPECT_TRUE(rocksdb::DB::Open(options, directory / "db", Into(&db)).IsInvalidArgument());
}

// All by one option string, as from an OPTIONS file.
TEST(AutoPolicy, ComesWithItsListenerFromAnOptionString) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  for (const bool listener : {false, true}) {
    rocksdb::Options options;
    Must(rocksdb::GetOptionsFromString(
        rocksdb::ConfigOptions(), rocksdb::Options(),
        std::string("create_if_missing=true;info_log_level=INFO_LEVEL;") +
            (listener ? "listeners={rocksieve.listener};" : "") +
            "block_based_table_factory={filter_policy=rocksieve.auto:10:verified}",
        &options));
    ASSERT_EQ(options.listeners.size(), listener ? 1u : 0u);
    const DbPtr db = Open(options, path);
    for (uint64_t flush = 0; flush < 3; flush++) {
      for (uint64_t i = 0; i < 1000; i++) {
        Must(db->Put(rocksdb::WriteOptions(), PresentKey(3 * i + flush), "v"));
      }
      Flush(db.get());
    }
    WaitForCompactions(db.get());  // the fourth file of level 0 sets one off
    const std::string log = LogOf(path);
    EXPECT_EQ(Count(log, "follows the live files, through rocksieve.listener"), listener ? 1u : 0u);
    EXPECT_EQ(Count(log, "follows its own history"), listener ? 0u : 1u);
    EXPECT_NEAR(FilterBitsPerEntry(TotalProperties(db.get())), 10, 1);
  }
}

// A writer of files announces nothing, and must not be taken for a file of a tree.
TEST(AutoPolicy, WritesFilesOutsideOfTreesAndFollowsIngestedOnes) {
  const TemporaryDirectory directory;
  TreeConfig config("rocksieve.auto:10", /*listener=*/true, 4);
  const DbPtr db = Open(config.db.Build(), directory / "db");
  Oracle oracle;
  uint64_t next = 0;
  for (int round = 0; round < 6; round++) {
    for (int i = 0; i < 4000; i++) {
      const std::string key = ScatteredKey(2 * next++);
      oracle[key] = "written";
      Must(db->Put(rocksdb::WriteOptions(), key, "written"));
    }
    Flush(db.get());
    WaitForCompactions(db.get());

    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), config.db.Build());
    const std::string file = directory / "ingested" + std::to_string(round);
    Must(writer.Open(file));
    std::map<std::string, std::string> sorted;
    for (int i = 0; i < 4000; i++) sorted[ScatteredKey(2 * next++)] = "ingested";
    for (const auto& [key, value] : sorted) Must(writer.Put(key, value));
    rocksdb::ExternalSstFileInfo info;
    Must(writer.Finish(&info));
    Must(db->IngestExternalFile({file}, rocksdb::IngestExternalFileOptions()));
    oracle.insert(sorted.begin(), sorted.end());
    WaitForCompactions(db.get());
    EXPECT_NEAR(MemoryOf(db.get()).bits(), 10, 1) << round;
  }
  ExpectHolds(db.get(), oracle, {ScatteredKey(1), ScatteredKey(3)});
  Compact(db.get());
  EXPECT_NEAR(MemoryOf(db.get()).bits(), 10, 0.3);
}

// What a database has from before keeps its filters, and only new files have a budget.
TEST(AutoPolicy, TakesOverADatabaseWithOtherFilters) {
  for (const bool listener : {false, true}) {
    SCOPED_TRACE(listener);
    const TemporaryDirectory directory;
    const std::string path = directory / "db";
    uint64_t next = 0;
    const auto fill = [&](rocksdb::DB* db, int flushes, const std::string& spec) {
      for (int i = 0; i < flushes * 2000; i++) {
        Must(db->Put(rocksdb::WriteOptions(), ScatteredKey(2 * next++), std::string(24, 'v')));
        if (i % 2000 != 1999) continue;
        Flush(db);
        WaitForCompactions(db);
        const Memory memory = MemoryOf(db, nullptr, spec);
        if (memory.entries >= 4000) {
          // Without the listener the policy does not know of the files from before, and which of
          // its own go with them in a compaction.
          EXPECT_NEAR(memory.bits(), 10, listener ? 1 : 1.5) << memory.entries << " entries";
        }
      }
    };
    for (const char* before : {"rocksieve.bloom:20", "rocksieve.auto:6"}) {
      TreeConfig old(before, listener, 4);
      const DbPtr db = Open(old.db.Build(), path);
      for (int i = 0; i < 40000; i++) {
        Must(db->Put(rocksdb::WriteOptions(), ScatteredKey(2 * next++), std::string(24, 'v')));
        if (i % 2000 == 1999) Flush(db.get());
      }
      WaitForCompactions(db.get());
    }
    TreeConfig config("rocksieve.auto:10", listener, 4);
    const DbPtr db = Open(config.db.Build(), path);
    fill(db.get(), 30, "rocksieve.auto:10");
    Compact(db.get());
    EXPECT_NEAR(MemoryOf(db.get()).bits(), 10, listener ? 0.3 : 0.6);
  }
}

// One policy and one listener for many column families and databases, from many threads.

// Fills a tree of its own keys; returns what it must hold. One thread writes at a time: of several,
// one writes the keys of the others, which the thread sanitizer does not understand.
Oracle Fill(std::mutex* writing, rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
            uint64_t seed, int flushes) {
  Oracle oracle;
  Random random(seed);
  for (int i = 0; i < flushes * 1500; i++) {
    const std::string key = ScatteredKey(2 * (random() % 40000));
    const std::string value = std::to_string(seed) + "." + std::to_string(i);
    const bool deletes = random() % 12 == 0;
    std::unique_lock<std::mutex> lock(*writing);
    if (deletes) {
      Must(db->Delete(rocksdb::WriteOptions(), family, key));
      oracle.erase(key);
    } else {
      Must(db->Put(rocksdb::WriteOptions(), family, key, value));
      oracle[key] = value;
    }
    lock.unlock();
    if (i % 1500 == 1499) Must(db->Flush(rocksdb::FlushOptions(), family));
  }
  return oracle;
}

class Sharing : public testing::TestWithParam<bool> {};

TEST_P(Sharing, ColumnFamiliesHaveABudgetEach) {
  const TemporaryDirectory directory;
  TreeConfig config("rocksieve.auto:10", GetParam(), 4);
  config.db.options.max_subcompactions = 2;
  TreeConfig sequential = config;
  sequential.db.Partitioned(1024);
  TreeConfig other("rocksieve.bloom:16", GetParam(), 4);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors = {
      {"default", config.db.Build()},
      {"second", config.db.Build()},
      {"partitioned", sequential.db.Build()},
      {"other", other.db.Build()}};
  rocksdb::DBOptions options(config.db.Build());
  options.create_missing_column_families = true;
  DbPtr db;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Must(rocksdb::DB::Open(options, directory / "db", descriptors, &handles, Into(&db)));
  std::mutex writing;
  std::vector<Oracle> oracles(handles.size());
  InThreads(static_cast<int>(handles.size()),
            [&](int i) { oracles[i] = Fill(&writing, db.get(), handles[i], i + 1, 25); });
  WaitForCompactions(db.get());
  for (size_t i = 0; i < handles.size(); i++) {
    SCOPED_TRACE(descriptors[i].name);
    ExpectHolds(db.get(), oracles[i], MissingKeys(200), nullptr, handles[i]);
    const double bits = MemoryOf(db.get(), handles[i]).bits();
    std::printf("%s: %.2f bits\n", descriptors[i].name.c_str(), bits);
    // Several jobs at once know less of each other than one after the other.
    const double budget = i < 3 ? 10 : 16;
    EXPECT_NEAR(bits, budget, budget * (GetParam() ? 0.1 : 0.12));
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) delete handle;
}

TEST_P(Sharing, DatabasesHaveABudgetEach) {
  constexpr int kDatabases = 3;
  const TemporaryDirectory directory;
  const TreeConfig config("rocksieve.auto:10", GetParam(), 4);
  const rocksdb::Options options = config.db.Build();  // one policy, one listener
  std::vector<Oracle> oracles(kDatabases);
  std::vector<DbPtr> dbs(kDatabases);
  InThreads(kDatabases, [&](int i) {
    std::mutex writing;
    const std::string path = directory / ("db" + std::to_string(i));
    dbs[i] = Open(options, path);
    oracles[i] = Fill(&writing, dbs[i].get(), dbs[i]->DefaultColumnFamily(), 10 + i, 10 + 10 * i);
    dbs[i].reset();
    dbs[i] = Open(options, path);
    Fill(&writing, dbs[i].get(), dbs[i]->DefaultColumnFamily(), 20 + i, 10);
    WaitForCompactions(dbs[i].get());
  });
  for (int i = 0; i < kDatabases; i++) {
    const double bits = MemoryOf(dbs[i].get()).bits();
    std::printf("database %d: %.2f bits\n", i, bits);
    EXPECT_NEAR(bits, 10, GetParam() ? 1.0 : 1.2);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Sharing, testing::Bool(), [](const auto& tested) {
  return std::string(tested.param ? "Listener" : "History");
});

}  // namespace
}  // namespace rocksieve
