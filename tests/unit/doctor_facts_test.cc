// SPDX-License-Identifier: Apache-2.0
// What doctor reads in LOG files and policies.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/doctor/facts.h"

namespace rocksieve::tools {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_EQ(first.line, 16u);
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
      "t 2 [db/db_impl/db_impl.cc:788] STATISTICS:\n"
      " rocksdb.block.cache.filter.miss COUNT : 18446744073709551615\n");
  EXPECT_EQ(log.ticker("rocksdb.block.cache.filter.miss"), 18446744073709551615u);
  EXPECT_EQ(log.ticker("rocksdb.block.cache.filter.hit"), 0u);  // of the dump before
  EXPECT_EQ(log.tickers_line, 5u);
  ASSERT_EQ(log.plugin_reports.size(), 1u);
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

TEST(LogFile, AnythingElse) {
  EXPECT_FALSE(Parse("").opened());
  EXPECT_FALSE(Parse(std::string("\0\xff:[]\n COUNT : \n] STATISTICS:", 30)).opened());
}

// Somebody tried to open the database while it was open: RocksDB renames the log of the process
// that has it, which goes on writing there.
TEST(ReadLogs, NewestThatGotAsFarAsOpening) {
  const fs::path directory =
      fs::path(testing::TempDir()) / ("rocksieve_read_logs_" + std::to_string(getpid()));
  fs::remove_all(directory);
  fs::create_directory(directory);
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
  fs::remove_all(directory);
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
