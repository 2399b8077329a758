// Many threads at once: on one policy, on one filter, and on one database.
#include <atomic>
#include <thread>

#include "integration/database.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

template <typename Action>
void InThreads(int count, Action action) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) threads.emplace_back([=] { action(i); });
  for (std::thread& thread : threads) thread.join();
}

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

std::string SpecName(const testing::TestParamInfo<const char*>& info) {
  return std::string(info.param).find("bloom") != std::string::npos ? "Bloom" : "Cuckoo";
}

INSTANTIATE_TEST_SUITE_P(Specs, Threads,
                         testing::Values("rocksieve.bloom:10:salted", "rocksieve.cuckoo:12.5"),
                         SpecName);

}  // namespace
}  // namespace rocksieve
