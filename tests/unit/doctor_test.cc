// SPDX-License-Identifier: Apache-2.0
// Checks of doctor beside their thresholds, and what it reads in LOG files and policies. Real
// databases, with each finding, are in integration/doctor_test.py.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/database/snapshot_files.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {
namespace {

// Facts as a database would give them, made by hand: healthy, until a test changes something.
struct FactsBuilder {
  explicit FactsBuilder(const std::string& policy = "rocksieve.bloom:10") {
    facts.directory = "/db";
    log.name = "LOG";
    log.rocksdb_version = "7.8.3";
    LoggedFamily& logged = log.families["default"];
    logged.filter_policy = policy;
    logged.line = 16;
    logged.block_cache = "0x7f";
    logged.block_cache_bytes = 8 << 20;
    logged.block_cache_shard_bits = 4;
    table_options["filter_policy"] = policy;
    family.tree.family.name = "default";
    family.tree.family.filter_policy = policy;
    family.policy = PolicyFacts::Describe(policy);
  }

  // An intact filter, of the policy that the options name.
  TreeFile& AddFile(int level, uint64_t entries, uint64_t filter_bytes) {
    if (family.tree.levels.empty() || family.tree.levels.back().level != level) {
      family.tree.levels.push_back({level, {}});
    }
    TreeFile file;
    file.name = std::to_string(100000 + ++files) + ".sst";
    file.level = level;
    file.properties.entries = entries;
    file.properties.whole_keys_filtered = true;
    file.properties.filter_policy_name = family.policy.spec;
    file.properties.prefix_extractor_name = "nullptr";
    file.filter.layout = FilterLayout::kFull;
    file.filter.family = family.policy.is_ours() ? "rocksieve.bloom" : "RocksDB Bloom";
    file.filter.stored_name = family.policy.stored_name;
    file.filter.bytes = filter_bytes;
    family.tree.levels.back().files.push_back(file);
    return family.tree.levels.back().files.back();
  }

  Facts Build() {
    // Tests run at the same time, each in a process of its own.
    const auto directory =
        std::filesystem::path(testing::TempDir()) / ("rocksieve_facts_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    {
      std::ofstream file(directory / "OPTIONS-000005");
      const auto section = [&](const char* name, const std::map<std::string, std::string>& values) {
        file << "[" << name << "]\n";
        for (const auto& [option, value] : values) file << "  " << option << "=" << value << "\n";
      };
      section("DBOptions", db_options);
      section("CFOptions \"default\"", family_options);
      section("TableOptions/BlockBasedTable \"default\"", table_options);
    }
    EXPECT_TRUE(OptionsFile::Load(directory.string(), ReadOnlyEnv(), &facts.options).ok());
    std::filesystem::remove_all(directory);
    facts.logs = {log};
    facts.families = {family};
    return facts;
  }

  std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (const Finding& finding : RunChecks(Build())) {
      ids.push_back(finding.id);
      EXPECT_TRUE(std::any_of(FindingKinds().begin(), FindingKinds().end(),
                              [&](const FindingKind& kind) {
                                return kind.id == finding.id && kind.severity == finding.severity;
                              }))
          << finding.id << ", " << NameOf(finding.severity) << " is not in FindingKinds()";
    }
    return ids;
  }

  Facts facts;
  LogFile log;
  FamilyFacts family;
  std::map<std::string, std::string> db_options, family_options, table_options;
  int files = 0;
};

using testing::ElementsAre;
using testing::IsEmpty;

FactsBuilder WithFiles(const std::string& policy = "rocksieve.bloom:10") {
  FactsBuilder builder(policy);
  builder.AddFile(0, 1000, 1250);
  builder.AddFile(1, 100000, 125000);
  return builder;
}

// CreateColumnFamily() and SetOptions() do not ask whether the spec can be honoured.
TEST(Checks, AWrongSpecThatWasTaken) {
  FactsBuilder builder("bloomfilter:10:false");
  EXPECT_THAT(builder.Ids(), IsEmpty());
  builder.log.plugin_reports = {{77, "rocksieve: a wrong filter_policy was taken. ..."}};
  const Findings findings = RunChecks(builder.Build());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "bad-spec");
  EXPECT_THAT(findings[0].evidence, ElementsAre(testing::HasSubstr("LOG, line 77")));
}

TEST(Checks, FilesWithoutFilters) {
  EXPECT_THAT(WithFiles("bloomfilter:10:false").Ids(), IsEmpty());
  EXPECT_THAT(FactsBuilder("nullptr").Ids(), ElementsAre("no-policy"));
  FactsBuilder builder = WithFiles();
  TreeFile& file = builder.AddFile(2, 500, 0);
  file.filter = FilterSummary();
  EXPECT_THAT(builder.Ids(), ElementsAre("files-without-filters"));
  file.properties.range_deletions = 500;  // nothing to filter
  EXPECT_THAT(builder.Ids(), IsEmpty());
  file.properties.range_deletions = 499;
  EXPECT_THAT(builder.Ids(), ElementsAre("files-without-filters"));
  file.properties.filter_policy_name = "rocksieve.auto:10";  // on purpose
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

TEST(Checks, LaterVersion) {
  FactsBuilder builder = WithFiles();
  builder.AddFile(2, 5, 9).filter.problems = {
      "the block at offset 3 (9 bytes): a later version of rocksieve wrote it"};
  EXPECT_THAT(builder.Ids(), ElementsAre("later-version-filters"));
}

TEST(Checks, ReportOfThePlugin) {
  FactsBuilder builder = WithFiles();
  builder.log.plugin_reports = {{5, "rocksieve: a filter block is damaged; ..."}};
  EXPECT_THAT(builder.Ids(), ElementsAre("plugin-report"));
}

TEST(Checks, CacheSize) {
  FactsBuilder builder;
  for (const char* key : {"3", "7"}) {
    TreeFile& file = builder.AddFile(1, 1 << 20, 5 << 17);  // 0.625 MiB
    file.smallest = file.largest = key;
    file.largest += "9";
    file.properties.index_bytes = 1 << 19;
    file.filter.predicted_rate = 0.09;
  }
  builder.log.families["default"].block_cache_bytes = 2 << 20;
  builder.log.families["default"].block_cache_shard_bits = 0;
  EXPECT_THAT(builder.Ids(), IsEmpty());  // they are not in the cache
  builder.table_options["cache_index_and_filter_blocks"] = "true";
  EXPECT_THAT(builder.Ids(), ElementsAre("filters-exceed-cache"));
  // Indexes are read for false positives alone: filters may have what they like.
  EXPECT_THAT(RunChecks(builder.Build()).front().remedy,
              testing::ContainsRegex("filter_policy=rocksieve.auto:1.*MB, with "
                                     "listeners=.rocksieve.listener., a block cache with "
                                     "high_pri_pool_ratio=1 instead of 0.50; then compact"));
  builder.log.families["default"].block_cache_bytes = 3 << 20;
  EXPECT_THAT(builder.Ids(), IsEmpty());
  builder.log.families["default"].block_cache_shard_bits = 3;  // 384 KiB
  EXPECT_THAT(builder.Ids(), ElementsAre("huge-filters"));
}

TEST(Checks, BudgetOfBytesThatFitsTheCache) {
  // 800 kB of filters in a cache of 1 MB, and indexes of which little is asked for.
  FactsBuilder builder("rocksieve.auto:800kB");
  for (int i = 0; i < 100; i++) {
    TreeFile& file = builder.AddFile(1, 10000, 8000);
    file.smallest = std::to_string(1000 + 10 * i);
    file.largest = std::to_string(1000 + 10 * i + 9);
    file.properties.index_bytes = 2000;
    file.filter.predicted_rate = 0.014;
  }
  builder.table_options["cache_index_and_filter_blocks"] = "true";
  LoggedFamily& logged = builder.log.families["default"];
  logged.block_cache_bytes = 1000000;
  logged.block_cache_shard_bits = 0;
  logged.high_pri_pool_ratio = 1;
  const auto exceeds = [&builder] {
    for (const Finding& finding : RunChecks(builder.Build())) {
      if (finding.id == "filters-exceed-cache") return finding.remedy;
    }
    return std::string();
  };
  EXPECT_EQ(exceeds(), "");
  // Bits per entry grow with the data.
  builder.family.policy = PolicyFacts::Describe("rocksieve.auto:6");
  EXPECT_THAT(exceeds(), testing::HasSubstr("rocksieve.auto:"));
  builder.family.policy = PolicyFacts::Describe("rocksieve.auto:800kB");
  logged.block_cache_bytes = 700000;
  EXPECT_THAT(exceeds(), testing::ContainsRegex("rocksieve.auto:6.*kB"));
  EXPECT_THAT(exceeds(), testing::Not(testing::HasSubstr("high_pri_pool_ratio")));
}

TEST(Checks, CacheMisses) {
  FactsBuilder builder = WithFiles();
  builder.table_options["cache_index_and_filter_blocks"] = "true";
  auto& tickers = builder.log.tickers;
  tickers["rocksdb.block.cache.filter.miss"] = 1000;
  tickers["rocksdb.block.cache.filter.hit"] = 8000;
  EXPECT_THAT(builder.Ids(), ElementsAre("filters-thrash"));
  tickers["rocksdb.block.cache.filter.hit"] = 10000;
  EXPECT_THAT(builder.Ids(), IsEmpty());
  // Each of many blocks was missed just once.
  tickers["rocksdb.block.cache.filter.hit"] = 0;
  builder.AddFile(2, 1000000, 1250000).filter.partitions = 1000;
  builder.family.tree.levels.back().files.back().filter.layout = FilterLayout::kPartitioned;
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

TEST(Checks, MemoryWaste) {
  FactsBuilder builder;
  for (int i = 0; i < 100; i++) builder.AddFile(1, 1 << 20, (1 << 20) + 100);
  builder.facts.process.emplace();
  EXPECT_THAT(builder.Ids(), IsEmpty());
  builder.facts.process->jemalloc = true;  // gives 1.25 MiB to each
  EXPECT_THAT(builder.Ids(), ElementsAre("filter-memory-waste"));
  builder.table_options["optimize_filters_for_memory"] = "true";
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

TEST(Checks, RocksDbVersion) {
  FactsBuilder builder = WithFiles();
  for (const char* version : {"6.29.5", "7.0.2", "10.1.0", "11.9.0", "12.0.0", "2147483647.9.9"}) {
    builder.log.rocksdb_version = version;
    EXPECT_THAT(builder.Ids(), ElementsAre("unsupported-rocksdb")) << version;
  }
  for (const char* version : {"7.0.3", "9.10.0", "10.1.3", "11.8.1", "", "unknown"}) {
    builder.log.rocksdb_version = version;
    EXPECT_THAT(builder.Ids(), IsEmpty()) << version;
  }
  builder = WithFiles("ribbonfilter:10:0");
  builder.log.rocksdb_version = "6.29.5";
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

// Filters of rocksieve.range that hear what iterators ask.
FactsBuilder WithRangeFiles() {
  FactsBuilder builder("rocksieve.range:12");
  builder.family.tree.family.prefix_extractor_name = "rocksieve.range";
  builder.family.tree.family.comparator_name = "leveldb.BytewiseComparator";
  for (int i = 0; i < 3; i++) {
    TreeFile& file = builder.AddFile(6, 100000, 150000);
    file.properties.prefix_extractor_name = "rocksieve.range.file";
    file.properties.prefixes_filtered = true;
  }
  return builder;
}

TEST(Checks, SeeksThatAskNoFilter) {
  FactsBuilder builder = WithRangeFiles();
  EXPECT_THAT(builder.Ids(), IsEmpty());
  auto& tickers = builder.log.tickers;
  tickers["rocksdb.number.db.seek"] = 9999;
  EXPECT_THAT(builder.Ids(), IsEmpty());
  tickers["rocksdb.number.db.seek"] = 10000;
  EXPECT_THAT(builder.Ids(), ElementsAre("ranges-unasked"));
  tickers["rocksdb.bloom.filter.prefix.checked"] = 99;
  EXPECT_THAT(builder.Ids(), ElementsAre("ranges-unasked"));
  tickers["rocksdb.bloom.filter.prefix.checked"] = 100;
  EXPECT_THAT(builder.Ids(), IsEmpty());
  // As releases since 8.3 count.
  tickers["rocksdb.bloom.filter.prefix.checked"] = 0;
  tickers["rocksdb.last.level.seek.filtered"] = 60;
  EXPECT_THAT(builder.Ids(), ElementsAre("ranges-unasked"));
  tickers["rocksdb.non.last.level.seek.filter.match"] = 40;
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

TEST(Checks, Processes) {
  FactsBuilder builder = WithFiles();
  ProcessFacts& process = builder.facts.process.emplace();
  process.pid = 42;
  process.rocksdb_copies = {{"/usr/lib/librocksdb.so.7.8.3", false}};
  EXPECT_THAT(builder.Ids(), ElementsAre("plugin-not-loaded"));
  process.plugins = {{"/opt/librocksieve.so.1.0.0", false}};
  EXPECT_THAT(builder.Ids(), ElementsAre("plugin-wrong-version"));  // it found no build
  process.plugin_built_for = "7.8";
  EXPECT_THAT(builder.Ids(), IsEmpty());
  process.plugins[0].replaced = true;
  EXPECT_THAT(builder.Ids(), ElementsAre("plugin-replaced"));
  process.plugins[0].replaced = false;

  // A library of another language brings a second copy. Who uses which one?
  process.rocksdb_copies.push_back({"/app/librocksdbjni.so", false});
  EXPECT_THAT(builder.Ids(), ElementsAre("static-rocksdb"));
  builder.facts.lock_holder = 42;  // wrote our spec into OPTIONS, so it knows it
  EXPECT_THAT(builder.Ids(), IsEmpty());
}

// What is read in LOG files and policies.

// As RocksDB 7.8.3 writes it, shortened.
constexpr char kHeader[] =
    R"(2026/11/21-08:59:10.877312 23441 RocksDB version: 7.8.3
2026/11/21-08:59:10.877638 23441 [db/column_family.cc:630] --------------- Options for column family [default]:
2026/11/21-08:59:10.877648 23441            Options.table_factory: BlockBasedTable
2026/11/21-08:59:10.877663 23441            table_factory options:   flush_block_policy_factory: F (0x1)
  cache_index_and_filter_blocks: 1
  block_cache: 0x563b043ca480
  block_cache_name: LRUCache
  block_cache_options:
    capacity : 8388608
    num_shard_bits : 4
    strict_capacity_limit : 0
  secondary_cache:
    capacity : 222
    num_shard_bits : 99
  block_cache_compressed: 0x77
  block_cache_compressed_options:
    capacity : 111
    num_shard_bits : 9
  filter_policy: rocksieve.bloom:10
  whole_key_filtering: 1
  prepopulate_block_cache: 0
2026/11/21-08:59:10.877704 23441  Options.memtable_whole_key_filtering: 0
2026/11/21-08:59:10.877638 23441 [db/column_family.cc:630] --------------- Options for column family [a] b]:
2026/11/21-08:59:10.877663 23441            table_factory options:   flush_block_policy_factory: F (0x1)
  block_cache: 0x563b043ca480
  block_cache_options:
    capacity : 8388608
  filter_policy: nullptr
  prepopulate_block_cache: 0
)";

LogFile Parse(const std::string& text) {
  std::istringstream lines(text);
  return ParseLog(lines);
}

TEST(LogFile, Header) {
  const LogFile log = Parse(kHeader);
  EXPECT_EQ(log.rocksdb_version, "7.8.3");
  EXPECT_TRUE(log.opened());
  ASSERT_EQ(log.families.size(), 2u);
  const LoggedFamily& first = log.families.at("default");
  EXPECT_EQ(first.filter_policy, "rocksieve.bloom:10");
  EXPECT_EQ(first.line, 19u);
  EXPECT_EQ(first.block_cache, "0x563b043ca480");
  EXPECT_EQ(first.block_cache_bytes, 8388608u);
  EXPECT_EQ(first.block_cache_shard_bits, 4);
  EXPECT_EQ(log.families.at("a] b").filter_policy, "nullptr");
  EXPECT_EQ(log.families.at("a] b").block_cache, first.block_cache);
}

// No block cache, but a compressed one, whose size is not that of the former.
TEST(LogFile, SizeOfAnotherCache) {
  const LogFile log = Parse(
      "x Options for column family [default]:\n  block_cache: (nil)\n"
      "  block_cache_compressed: 0x7\n    capacity : 111\n  filter_policy: bloomfilter\n");
  EXPECT_EQ(log.families.at("default").filter_policy, "bloomfilter");
  EXPECT_EQ(log.families.at("default").block_cache_bytes, 0u);
}

TEST(LogFile, LastStatisticsAndReports) {
  const LogFile log = Parse(
      "t 1 [db/db_impl/db_impl.cc:788] STATISTICS:\n"
      " rocksdb.block.cache.filter.miss COUNT : 3\nrocksdb.block.cache.filter.hit COUNT : 4\n"
      "t 1 [WARN] rocksieve: a filter block is damaged; its file\n"
      "t 1 [rocksieve: a column family] [WARN] rocksieve: \nt rocksieve: \n"
      "t 2 [db/db_impl/db_impl.cc:788] STATISTICS:\n"
      " rocksdb.block.cache.filter.miss COUNT : 18446744073709551615\n"
      "t 2 [ERROR] [db.cc:3000] Waiting after error: Corruption: rocksieve: it misses a key\n");
  EXPECT_EQ(log.ticker("rocksdb.block.cache.filter.miss"), 18446744073709551615u);
  EXPECT_EQ(log.ticker("rocksdb.block.cache.filter.hit"), 0u);  // of the dump before
  EXPECT_EQ(log.tickers_line, 7u);
  ASSERT_EQ(log.plugin_reports.size(), 2u);
  EXPECT_EQ(log.plugin_reports[1].text, "rocksieve: it misses a key");
  EXPECT_EQ(log.plugin_reports[0].line, 4u);
  EXPECT_EQ(log.plugin_reports[0].text, "rocksieve: a filter block is damaged; its file");
}

TEST(LogFile, TickersWithoutANumber) {
  const LogFile log = Parse("a COUNT : 5\nb COUNT : 6\na COUNT : \n COUNT : ");
  EXPECT_EQ(log.ticker("a"), 0u);
  EXPECT_EQ(log.ticker("b"), 6u);
}

TEST(LogFile, WhatAutoFollows) {
  const LogFile log = Parse(
      "t 1 rocksieve: column family a: b: rocksieve.auto:10 follows the live files, through it\n");
  EXPECT_TRUE(log.plugin_reports.empty());
  ASSERT_EQ(log.follows.count("a: b"), 1u);
  EXPECT_EQ(log.follows.at("a: b").line, 1u);
}

// Somebody tried to open the database while it was open: RocksDB renames the log of the process
// that has it, which goes on writing there.
TEST(ReadLogs, NewestThatGotAsFarAsOpening) {
  const std::filesystem::path directory =
      testing::TempDir() + "rocksieve_read_logs_" + std::to_string(getpid());
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(directory / name) << text;
  };
  write("LOG", "x RocksDB version: 7.8.3\n");
  write("LOG.old.99", "x RocksDB version: 6.0.1\n");
  write("LOG.old.1000", std::string(kHeader) + "t 2 [x] STATISTICS:\n a.b COUNT : 7\n");
  const std::vector<LogFile> logs = ReadLogs(directory);
  ASSERT_EQ(logs.size(), 3u);
  EXPECT_EQ(logs[0].name, "LOG");
  EXPECT_FALSE(logs[0].opened());
  EXPECT_EQ(logs[1].name, "LOG.old.1000");
  EXPECT_EQ(logs[1].ticker("a.b"), 7u);
  EXPECT_EQ(logs[2].rocksdb_version, "6.0.1");
  std::filesystem::remove_all(directory);
  EXPECT_TRUE(ReadLogs(directory).empty());
}

enum class Kind { kNotStated, kNone, kOurs, kBuiltin, kUnknown };

TEST(PolicyFacts, Kinds) {
  const std::pair<const char*, Kind> kCases[] = {
      {"", Kind::kNotStated},
      {"nullptr", Kind::kNone},
      {"rocksieve.bloom:10", Kind::kOurs},
      {"{id=rocksieve.ribbon:1%;}", Kind::kOurs},
      {"{id=rocksieve.ribbon:1%}", Kind::kOurs},
      {"rocksieve.auto:10", Kind::kOurs},
      {"none", Kind::kUnknown},
      {"bloomfilter:10:false", Kind::kBuiltin},
      {"bloomfilter:9.5", Kind::kBuiltin},
      {"ribbonfilter:10:0", Kind::kBuiltin},
      {"rocksdb.BuiltinBloomFilter", Kind::kBuiltin},
      {"rocksieve.blom:10", Kind::kUnknown},
      {"rocksieve", Kind::kUnknown},
      {"rocksive.bloom:10", Kind::kUnknown},
      {"bloomfilter:x", Kind::kUnknown},
      {"acme.Filter", Kind::kUnknown},
  };
  for (const auto& [words, kind] : kCases) {
    const PolicyFacts facts = PolicyFacts::Describe(words);
    EXPECT_EQ(facts.is_none(), kind == Kind::kNone) << words;
    EXPECT_EQ(facts.is_ours(), kind == Kind::kOurs) << words;
    EXPECT_EQ(facts.works(), kind == Kind::kOurs || kind == Kind::kBuiltin) << words;
    EXPECT_EQ(facts.is_unknown(), kind == Kind::kUnknown) << words;
    EXPECT_EQ(facts.is_auto(), facts.spec == "rocksieve.auto:10") << words;
  }
}

TEST(PolicyFacts, StoredNames) {
  const std::string builtin = PolicyFacts::Describe("bloomfilter:10").stored_name;
  EXPECT_EQ(builtin, kBuiltinStoredName);
  EXPECT_EQ(PolicyFacts::Describe("ribbonfilter:10").stored_name, builtin);
  EXPECT_EQ(PolicyFacts::Describe("rocksieve.bloom:10").stored_name, builtin);
  EXPECT_EQ(PolicyFacts::Describe("rocksieve.bloom:10:own-name").stored_name, kOwnStoredName);
}

}  // namespace
}  // namespace rocksieve::tools
