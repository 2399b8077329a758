// One policy and one listener for many column families and databases, from many threads.
#include <mutex>
#include <thread>

#include "integration/tree.h"

namespace rocksieve {
namespace {

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
  rocksdb::DB* opened = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  Must(rocksdb::DB::Open(options, directory / "db", descriptors, &handles, &opened));
  DbPtr db(opened);
  std::mutex writing;
  std::vector<Oracle> oracles(handles.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < handles.size(); i++) {
    threads.emplace_back([&, i] { oracles[i] = Fill(&writing, db.get(), handles[i], i + 1, 25); });
  }
  for (std::thread& thread : threads) thread.join();
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
  std::vector<std::thread> threads;
  std::vector<Oracle> oracles(kDatabases);
  std::vector<DbPtr> dbs(kDatabases);
  for (int i = 0; i < kDatabases; i++) {
    threads.emplace_back([&, i] {
      std::mutex writing;
      const std::string path = directory / ("db" + std::to_string(i));
      dbs[i] = Open(options, path);
      oracles[i] = Fill(&writing, dbs[i].get(), dbs[i]->DefaultColumnFamily(), 10 + i, 10 + 10 * i);
      dbs[i].reset();
      dbs[i] = Open(options, path);
      Fill(&writing, dbs[i].get(), dbs[i]->DefaultColumnFamily(), 20 + i, 10);
      WaitForCompactions(dbs[i].get());
    });
  }
  for (std::thread& thread : threads) thread.join();
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
