// RocksDB's other options that meet with filters.
#include <rocksdb/filter_policy.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 20000, kFiles = 3;
constexpr double kBitsPerKey = 12;

class TableOptions : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  DbConfig Config() const {
    DbConfig config(policy_);
    if (std::get<1>(GetParam())) config.Partitioned(1024);
    return config;
  }

  // Writes, closes, opens, and checks that nothing is missing. Level 0 has kFiles files.
  DbPtr WriteAndOpenAgain(const DbConfig& config) {
    oracle_ = WriteOverlappingFiles(Open(config.Build(), path_).get(), kKeys, kFiles);
    DbPtr db = Open(config.Build(), path_);
    ExpectHolds(db.get(), oracle_, missing_);
    return db;
  }

  void ExpectFiltered(rocksdb::DB* db, uint64_t files = kFiles) const {
    const LookupCost cost = LookUp(db, missing_);
    EXPECT_GT(cost.filters_rejected, files * missing_.size() * 95 / 100);
    EXPECT_LT(cost.data_block_reads, files * missing_.size() / 20);
  }

  const PolicyPtr policy_ = PolicyFor(std::get<0>(GetParam()));
  const std::vector<std::string> missing_ = MissingKeys(5000);
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  Oracle oracle_;
};

TEST_P(TableOptions, OptimizeFiltersForHitsLeavesTheLastLevelWithoutFilters) {
  DbConfig config = Config();
  config.options.optimize_filters_for_hits = true;
  const DbPtr db = WriteAndOpenAgain(config);
  // The first file was the whole database when it was written, and so its last level.
  const LookupCost cost = LookUp(db.get(), missing_);
  EXPECT_GT(cost.filters_rejected, (kFiles - 1) * missing_.size() * 95 / 100);
  EXPECT_LT(cost.data_block_reads, missing_.size() * 11 / 10);
  Compact(db.get());
  EXPECT_EQ(TotalProperties(db.get()).filter_size, 0u);
  ExpectHolds(db.get(), oracle_, missing_);
  EXPECT_EQ(LookUp(db.get(), missing_).filters_rejected, 0u);
}

TEST_P(TableOptions, OptimizeFiltersForMemoryMovesSizesALittle) {
  DbConfig config = Config();
  config.table.optimize_filters_for_memory = true;
  const DbPtr db = WriteAndOpenAgain(config);
  ExpectFiltered(db.get());
  const double bits = FilterBitsPerEntry(TotalProperties(db.get()));
  EXPECT_GT(bits, 0.75 * kBitsPerKey);
  EXPECT_LT(bits, 1.5 * kBitsPerKey);
}

TEST_P(TableOptions, DetectFilterConstructCorruptionFindsNoneWhereNoneIs) {
  DbConfig config = Config();
  config.table.detect_filter_construct_corruption = true;
  const DbPtr db = WriteAndOpenAgain(config);
  ExpectFiltered(db.get());
  Compact(db.get());
  ExpectHolds(db.get(), oracle_, missing_);
  ExpectFiltered(db.get(), 1);
}

TEST_P(TableOptions, FiltersInTheBlockCache) {
  for (const bool pinned : {false, true}) {
    SCOPED_TRACE(pinned ? "pinned" : "not pinned");
    DbConfig config = Config();
    config.table.cache_index_and_filter_blocks = true;
    config.table.cache_index_and_filter_blocks_with_high_priority = true;
    config.table.pin_l0_filter_and_index_blocks_in_cache = pinned;
    config.table.pin_top_level_index_and_filter = pinned;
    if (pinned) {
      config.table.metadata_cache_options.partition_pinning = rocksdb::PinningTier::kAll;
      config.table.metadata_cache_options.unpartitioned_pinning = rocksdb::PinningTier::kAll;
    }
    std::filesystem::remove_all(path_);
    const DbPtr db = WriteAndOpenAgain(config);
    ExpectFiltered(db.get());
  }
}

// Filters that do not fit are read and opened again and again, and thrown out while others ask
// them.
TEST_P(TableOptions, FiltersInATinyBlockCache) {
  DbConfig config = Config();
  config.table.block_cache = rocksdb::NewLRUCache(8 << 10, /*num_shard_bits=*/0);
  config.table.cache_index_and_filter_blocks = true;
  const DbPtr db = WriteAndOpenAgain(config);
  ExpectFiltered(db.get());
  const FilterStats stats = StatsOf(policy_);
  EXPECT_GT(stats.filters_opened, 10 * stats.filters_built);
  EXPECT_EQ(stats.damaged_filters, 0u);
}

// A strict cache refuses the filters. Keys may become unreadable then, as they do under any policy,
// but are never denied.
TEST_P(TableOptions, FiltersThatAStrictBlockCacheRefuses) {
  DbConfig config = Config();
  config.table.block_cache =
      rocksdb::NewLRUCache(8 << 20, /*num_shard_bits=*/0, /*strict_capacity_limit=*/true);
  config.table.cache_index_and_filter_blocks = true;
  const DbPtr db = WriteAndOpenAgain(config);
  config.table.block_cache->SetCapacity(1000);
  uint64_t denied = 0, refused = 0;
  std::string value;
  for (const auto& [key, expected] : oracle_) {
    const rocksdb::Status status = db->Get(rocksdb::ReadOptions(), key, &value);
    denied += status.IsNotFound() ? 1 : 0;
    refused += status.IsAborted() ? 1 : 0;
  }
  EXPECT_EQ(denied, 0u);
  EXPECT_GT(refused, 0u);
}

// The memtable has a Bloom filter of RocksDB's own, which is no policy's business.
TEST_P(TableOptions, TheMemtablesOwnFilterIsLeftAlone) {
  DbConfig config = Config();
  config.options.memtable_prefix_bloom_size_ratio = 0.1;
  config.options.memtable_whole_key_filtering = true;
  const DbPtr db = WriteAndOpenAgain(config);
  const uint64_t built = StatsOf(policy_).filters_built;
  for (uint64_t i = kKeys; i < kKeys + 2000; i++) {
    Must(db->Put(rocksdb::WriteOptions(), PresentKey(i), "in memory"));
    oracle_[PresentKey(i)] = "in memory";
  }
  rocksdb::get_perf_context()->Reset();
  ExpectHolds(db.get(), oracle_, missing_);
  EXPECT_GT(rocksdb::get_perf_context()->bloom_memtable_miss_count, missing_.size() / 2);
  EXPECT_EQ(StatsOf(policy_).filters_built, built);
}

TEST_P(TableOptions, EveryFormatVersionAndIndexType) {
  for (uint32_t version = 2; version <= 5; version++) {
    for (const auto index : {rocksdb::BlockBasedTableOptions::kBinarySearch,
                             rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch,
                             rocksdb::BlockBasedTableOptions::kBinarySearchWithFirstKey}) {
      DbConfig config = Config();
      config.table.format_version = version;
      if (!config.table.partition_filters) config.table.index_type = index;
      SCOPED_TRACE("format version " + std::to_string(version) + ", index " +
                   std::to_string(config.table.index_type));
      std::filesystem::remove_all(path_);
      const DbPtr db = Open(config.Build(), path_);
      const Oracle oracle = WriteOverlappingFiles(db.get(), 2000, 1);
      ExpectHolds(db.get(), oracle, MissingKeys(1000));
      EXPECT_GT(LookUp(db.get(), MissingKeys(1000)).filters_rejected, 900u);
      if (config.table.partition_filters) break;  // they have one index type only
    }
  }
}

std::string OptionsName(const testing::TestParamInfo<std::tuple<const char*, bool>>& info) {
  const std::string spec = std::get<0>(info.param);
  return std::string(spec.find("bloom") != std::string::npos ? "Bloom" : "Cuckoo") +
         (std::get<1>(info.param) ? "Partitioned" : "Full");
}

INSTANTIATE_TEST_SUITE_P(
    All, TableOptions,
    testing::Combine(testing::Values("rocksieve.bloom:12", "rocksieve.cuckoo:12"), testing::Bool()),
    OptionsName);

}  // namespace
}  // namespace rocksieve
