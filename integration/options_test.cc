// SPDX-License-Identifier: Apache-2.0
// Options: specs in option strings and OPTIONS files, and the table options with which filters
// work.
#include <ostream>

#if __has_include(<rocksdb/advanced_cache.h>)  // since 8.1
#include <rocksdb/advanced_cache.h>
#endif
#include <rocksdb/c.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/options_util.h>

#include "integration/database.h"
#include "integration/sst_file.h"

namespace rocksieve {
namespace {

// A policy is its spec: option strings and OPTIONS files reproduce it, and what it builds.

// A spec as somebody may write it, and as the policy calls itself.
struct Spelling {
  const char* written;
  const char* canonical;
};

void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.written; }

constexpr Spelling kSpellings[] = {
    {"rocksieve.bloom:10", "rocksieve.bloom:10"},
    {"rocksieve.bloom:13.70", "rocksieve.bloom:13.7"},
    {"rocksieve.bloom:010.000", "rocksieve.bloom:10"},
    {"rocksieve.cuckoo:12.5", "rocksieve.cuckoo:12.5"},
    {"rocksieve.cuckoo:0.1%", "rocksieve.cuckoo:0.1%"},
    {"rocksieve.ribbon:9.40", "rocksieve.ribbon:9.4"},
    {"rocksieve.bloom:1.0%", "rocksieve.bloom:1%"},
    {"rocksieve.bloom:64", "rocksieve.bloom:64"},
    {"rocksieve.bloom:50%", "rocksieve.bloom:50%"},
    {"rocksieve.bloom:0.0001%", "rocksieve.bloom:0.0001%"},
    {"rocksieve.bloom:10:salted", "rocksieve.bloom:10:salted"},
    {"rocksieve.cuckoo:2.50%:salted", "rocksieve.cuckoo:2.5%:salted"},
};

const rocksdb::FilterPolicy* PolicyOf(const rocksdb::ColumnFamilyOptions& options) {
  const auto* table = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return table == nullptr ? nullptr : table->filter_policy.get();
}

std::string PolicyIdOf(const rocksdb::ColumnFamilyOptions& options) {
  const rocksdb::FilterPolicy* policy = PolicyOf(options);
  return policy == nullptr ? "no policy" : policy->GetId();
}

std::string OptionString(const std::string& spec) {
  return "block_based_table_factory={filter_policy=" + spec +
         ";block_size=8192};compression=" + "kNoCompression;create_if_missing=true";
}

rocksdb::Options OptionsFromString(const std::string& spec) {
  rocksdb::Options base, options;
  base.env = UnsyncedEnv();
  Must(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), base, OptionString(spec), &options));
  return options;
}

// What it builds of 3000 keys; also checks that the database works.
std::vector<std::string> FiltersBuiltWith(const rocksdb::Options& options) {
  const TemporaryDirectory directory;
  const DbPtr db = Open(options, directory / "db");
  const Oracle oracle = WriteOverlappingFiles(db.get(), 3000, 1);
  ExpectHolds(db.get(), oracle, MissingKeys(1000));
  return FilterBlocksOf(db.get());
}

class RoundTrip : public testing::TestWithParam<Spelling> {
 protected:
  // The salt is drawn anew for each filter.
  void ExpectSame(const rocksdb::ColumnFamilyOptions& options) const {
    EXPECT_EQ(PolicyIdOf(options), GetParam().canonical);
    if (std::string_view(GetParam().written).find("salted") == std::string_view::npos) {
      rocksdb::Options to_build_with(rocksdb::DBOptions(), options);
      to_build_with.create_if_missing = true;
      to_build_with.env = UnsyncedEnv();
      EXPECT_TRUE(FiltersBuiltWith(to_build_with) == filters_);
    }
  }

  const rocksdb::Options options_ = OptionsFromString(GetParam().written);
  const std::vector<std::string> filters_ = FiltersBuiltWith(DbConfig(GetParam().written).Build());
};

TEST_P(RoundTrip, ThroughTheCxxInterface) {
  EXPECT_EQ(PolicyFor(GetParam().written)->GetId(), GetParam().canonical);
  EXPECT_STREQ(PolicyFor(GetParam().written)->Name(), GetParam().canonical);
  EXPECT_EQ(filters_.size(), 1u);
}

TEST_P(RoundTrip, ThroughOptionStrings) {
  ExpectSame(options_);
  rocksdb::ConfigOptions config;
  config.depth = rocksdb::ConfigOptions::kDepthDetailed;  // else a table factory is a mere name
  std::string db_string, family_string;
  Must(rocksdb::GetStringFromDBOptions(config, options_, &db_string));
  Must(rocksdb::GetStringFromColumnFamilyOptions(config, options_, &family_string));
  EXPECT_NE(family_string.find(std::string("filter_policy=") + GetParam().canonical + ";"),
            std::string::npos)
      << family_string;
  rocksdb::DBOptions db_options;
  rocksdb::ColumnFamilyOptions family_options;
  Must(rocksdb::GetDBOptionsFromString(config, rocksdb::DBOptions(), db_string, &db_options));
  Must(rocksdb::GetColumnFamilyOptionsFromString(config, rocksdb::ColumnFamilyOptions(),
                                                 family_string, &family_options));
  ExpectSame(family_options);
}

TEST_P(RoundTrip, ThroughTableOptionStrings) {
  rocksdb::BlockBasedTableOptions table;
  Must(rocksdb::GetBlockBasedTableOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::BlockBasedTableOptions(),
      std::string("filter_policy=") + GetParam().written, &table));
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  EXPECT_EQ(PolicyIdOf(options), GetParam().canonical);
}

TEST_P(RoundTrip, ThroughTheOptionsFileOfADatabase) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  Oracle oracle = WriteOverlappingFiles(Open(options_, path).get(), 1000, 2);
  for (int generation = 0; generation < 2; generation++) {
    rocksdb::DBOptions db_options;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    Must(rocksdb::LoadLatestOptions(rocksdb::ConfigOptions(), path, &db_options, &families));
    ASSERT_EQ(families.size(), 1u);
    Must(rocksdb::CheckOptionsCompatibility(rocksdb::ConfigOptions(), path, db_options, families));
    ExpectSame(families[0].options);
    const DbPtr db = Open(rocksdb::Options(db_options, families[0].options), path);
    ExpectHolds(db.get(), oracle, MissingKeys(500));
    EXPECT_GT(LookUp(db.get(), MissingKeys(500)).filters_rejected, 0u);
  }
}

TEST_P(RoundTrip, ThroughTheCInterface) {
  const TemporaryDirectory directory;
  char* error = nullptr;
  rocksdb_options_t* base = rocksdb_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_get_options_from_string(base, OptionString(GetParam().written).c_str(), options, &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_t* c_db = rocksdb_open(options, (directory / "db").c_str(), &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  Oracle oracle;
  for (uint64_t i = 0; i < 3000; i++) {
    const std::string key = PresentKey(i), value = "value of " + key;
    oracle[key] = value;
    rocksdb_put(c_db, write, key.data(), key.size(), value.data(), value.size(), &error);
    ASSERT_STREQ(error, nullptr);
  }
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(c_db, flush, &error);
  ASSERT_STREQ(error, nullptr);
  rocksdb_close(c_db);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_writeoptions_destroy(write);
  rocksdb_options_destroy(options);
  rocksdb_options_destroy(base);

  const DbPtr db = Open(DbConfig(GetParam().written).Build(), directory / "db");
  ExpectHolds(db.get(), oracle);
  if (std::string_view(GetParam().written).find("salted") == std::string_view::npos) {
    EXPECT_TRUE(FilterBlocksOf(db.get()) == filters_);
  }
}

INSTANTIATE_TEST_SUITE_P(Spellings, RoundTrip, testing::ValuesIn(kSpellings));

// The whole set of ways in which RocksDB asks what an object is.
TEST(PolicyIdentity, IsTheSpecButTheFilterIsStoredUnderTheBuiltInName) {
  const PolicyPtr policy = PolicyFor("rocksieve.bloom:10");
  const PolicyPtr stock(rocksdb::NewBloomFilterPolicy(10));
  EXPECT_STREQ(policy->CompatibilityName(), stock->CompatibilityName());
  EXPECT_TRUE(policy->IsInstanceOf("rocksieve"));
  EXPECT_TRUE(policy->IsInstanceOf("rocksieve.bloom:10"));
  EXPECT_FALSE(policy->IsInstanceOf("rocksieve.bloom:11"));
  EXPECT_FALSE(policy->IsInstanceOf(stock->Name()));
  FilterStats stats;
  EXPECT_TRUE(GetFilterStats(stock.get(), &stats).IsInvalidArgument());
  EXPECT_TRUE(GetFilterStats(nullptr, &stats).IsInvalidArgument());
}

// Options that are equal but for the amount are not the same to RocksDB.
TEST(PolicyIdentity, OptionsFilesTellSpecsApart) {
  const TemporaryDirectory directory;
  const std::string path = directory / "db";
  Open(OptionsFromString("rocksieve.bloom:10"), path).reset();
  rocksdb::ConfigOptions exact;
  exact.sanity_level = rocksdb::ConfigOptions::kSanityLevelExactMatch;
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  Must(rocksdb::LoadLatestOptions(exact, path, &db_options, &families));
  Must(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families));
  families[0].options.table_factory = OptionsFromString("rocksieve.bloom:10.00").table_factory;
  Must(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families));
  families[0].options.table_factory = OptionsFromString("rocksieve.bloom:11").table_factory;
  EXPECT_FALSE(rocksdb::CheckOptionsCompatibility(exact, path, db_options, families).ok());
}

// RocksDB's other options that meet with filters.

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

INSTANTIATE_TEST_SUITE_P(All, TableOptions,
                         testing::Combine(testing::Values("rocksieve.bloom:12",
                                                          "rocksieve.cuckoo:12"),
                                          testing::Bool()));

}  // namespace
}  // namespace rocksieve
