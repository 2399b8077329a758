// SPDX-License-Identifier: Apache-2.0
// What cannot be walked in table files goes through RocksDB's iterator, and why is told. That walks
// give what the iterator gives: tests/fuzz/tree_walk.cc.
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rocksdb/comparator.h>
#include <rocksdb/env.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/wide_columns.h>

#include "integration/join_support.h"
#include "plugin/join/comparable_value.h"

namespace rocksieve::join {
namespace {

// Rows in a table file, to which each test adds what cannot be walked.
class NotWalked : public testing::Test {
 protected:
  void OpenDatabase() {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    db_ = rocksieve::Open(options_, directory_ / "db");
    for (int i = 100; i < 200; i++) Put("key" + std::to_string(i), "value");
    Flush();
  }
  void Put(const std::string& key, const std::string& value) {
    Must(db_->Put({}, key, value));
    rows_[key] = value;
  }
  void Flush() { Must(db_->Flush({})); }

  std::unique_ptr<RocksDbSource> OpenSource() {
    auto source = RocksDbSource::Open(db_.get(), db_->DefaultColumnFamily(), scan_);
    Must(source.status());
    return *std::move(source);
  }
  // Twice: what is in a file is found when a scan comes to it, and remembered.
  void ExpectNotWalked(const std::string& why) {
    const auto source = OpenSource();
    ExpectShows(source.get(), rows_);
    EXPECT_NE(source->why_not_walked().find(why), std::string::npos) << source->why_not_walked();
    EXPECT_FALSE(source->why_not_walked().empty());
    ExpectShows(source.get(), rows_);
    ExpectShows(source.get(), rows_, {"key120", "key150"});
  }
  void ExpectWalked() {
    const auto source = OpenSource();
    ExpectShows(source.get(), rows_);
    ExpectShows(source.get(), rows_, {"key120", "key150"});
    EXPECT_EQ(source->why_not_walked(), "");
  }

  TemporaryDirectory directory_;
  rocksdb::Options options_;
  RocksDbSourceOptions scan_;
  DbPtr db_;
  Model rows_;
};

TEST_F(NotWalked, OnlyWhatFollowsIs) {
  OpenDatabase();
  ExpectWalked();
  Must(db_->Delete({}, "key130"));
  Must(db_->SingleDelete({}, "key131"));
  rows_.erase("key130");
  rows_.erase("key131");
  Flush();
  ExpectWalked();
}

TEST_F(NotWalked, IfNotWanted) {
  OpenDatabase();
  scan_.walk = false;
  ExpectNotWalked("it is not wanted");
}

TEST_F(NotWalked, UnflushedRows) {
  OpenDatabase();
  Put("key105", "new");
  Must(db_->Delete({}, "key106"));
  rows_.erase("key106");
  ExpectNotWalked("memtables hold 2 entries");
  Flush();
  ExpectWalked();
}

TEST_F(NotWalked, OperandsOfMerges) {
  options_.merge_operator = Appending();
  OpenDatabase();
  ExpectWalked();  // the operator alone does no harm
  Must(db_->Merge({}, "key140", "more"));
  Must(db_->Merge({}, "other", "alone"));
  rows_["key140"] += ",more";
  rows_["other"] = "alone";
  Flush();
  ExpectNotWalked("it has operands of merges");
  Must(db_->CompactRange({}, nullptr, nullptr));
  ExpectWalked();
}

TEST_F(NotWalked, DeletedRanges) {
  OpenDatabase();
  Must(db_->DeleteRange({}, db_->DefaultColumnFamily(), "key110", "key145"));
  rows_.erase(rows_.lower_bound("key110"), rows_.lower_bound("key145"));
  Flush();
  ExpectNotWalked("it has deleted ranges");
}

// What the iterator gives from the middle of a scan on.
TEST_F(NotWalked, SingleRowsPassDeletedOnesOnce) {
  OpenDatabase();
  const Model before = rows_;
  for (const auto& [key, value] : before) {
    if (key < "key150" && key.back() == '0') continue;
    Must(db_->Delete({}, key));
    rows_.erase(key);
  }
  const auto source = OpenSource();
  RowLookup lookup(db_.get(), db_->DefaultColumnFamily());
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  for (const auto& [key, value] : before) {
    std::optional<std::string_view> found;
    Must(lookup.Find(key, &found));
    EXPECT_EQ(found.has_value(), rows_.count(key) == 1) << key;
    for (size_t i = 0; i <= rows_.count(key); i++) {  // also where it stands
      Row row;
      EXPECT_EQ(source->Scan({key, key + '\0'})->Next(&row), rows_.count(key) == 1) << key;
    }
  }
  EXPECT_LT(rocksdb::get_perf_context()->internal_delete_skipped_count, 3 * before.size());
  rocksdb::SetPerfLevel(rocksdb::kDisable);
}

TEST_F(NotWalked, WideColumns) {
  OpenDatabase();
  Must(db_->PutEntity({}, db_->DefaultColumnFamily(), "key150",
                      {{rocksdb::kDefaultWideColumnName, "wide"}, {"column", "other"}}));
  rows_["key150"] = "wide";
  Flush();
  const auto source = OpenSource();
  ExpectShows(source.get(), rows_, {"", "key150"});
  EXPECT_EQ(source->why_not_walked(), "");
  ExpectNotWalked("an entry of type 22");
}

TEST_F(NotWalked, BlobFiles) {
  options_.enable_blob_files = true;
  options_.min_blob_size = 100;
  OpenDatabase();
  ExpectWalked();  // small values are in tables
  Put("key160", std::string(1000, 'x'));
  Flush();
  ExpectNotWalked("an entry of type 17");
}

TEST_F(NotWalked, ManyRuns) {
  OpenDatabase();
  for (int i = 1; i < 32; i++) {
    Put("key" + std::to_string(100 + 3 * i), std::to_string(i));
    Flush();
  }
  ExpectWalked();
  Put("key100", "the last one");
  Flush();
  ExpectNotWalked("there are 33 sorted runs");
}

TEST_F(NotWalked, AnotherOrder) {
  options_.comparator = rocksdb::ReverseBytewiseComparator();
  scan_.any_order = true;
  OpenDatabase();
  const auto source = OpenSource();
  EXPECT_NE(source->why_not_walked(), "");
  const auto cursor = source->Scan({});
  auto expected = rows_.rbegin();
  for (Row row; cursor->Next(&row); ++expected) {
    ASSERT_TRUE(expected != rows_.rend());
    EXPECT_EQ(row.key, expected->first);
    EXPECT_EQ(row.value, expected->second);
  }
  EXPECT_TRUE(cursor->status().ok()) << cursor->status();
  EXPECT_TRUE(expected == rows_.rend());
}

TEST_F(NotWalked, OldFormats) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 1;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  OpenDatabase();
  ExpectNotWalked("format_version 1");
}

// RocksDB has it open, and what it knows of it is in memory.
TEST_F(NotWalked, FilesThatCannotBeOpenedAnyMore) {
  OpenDatabase();
  for (int i = 200; i < 300; i++) Put("key" + std::to_string(i), "value");
  Flush();
  rocksdb::ColumnFamilyMetaData data;
  db_->GetColumnFamilyMetaData(&data);
  ASSERT_EQ(data.levels[0].files.size(), 2u);
  const std::string path = directory_ / "db" + data.levels[0].files.front().name;
  std::string bytes;
  Must(rocksdb::ReadFileToString(db_->GetEnv(), path, &bytes));
  bytes.back() ^= 1;  // of the number by which table files are known
  Must(rocksdb::WriteStringToFile(db_->GetEnv(), bytes, path));
  ExpectNotWalked(path);
}

TEST_F(NotWalked, ReadsWithAPriority) {
  OpenDatabase();
  scan_.rate_limiter_priority = rocksdb::Env::IO_HIGH;
  ExpectNotWalked("reads have a priority of their own");
}

// Its iterators decide what is visible.
TEST_F(NotWalked, StackedDatabases) {
  rocksdb::TransactionDB* transactions = nullptr;
  options_.create_if_missing = true;
  Must(rocksdb::TransactionDB::Open(options_, {}, directory_ / "db", &transactions));
  db_.reset(transactions);
  Put("key125", "value");
  Flush();
  ExpectNotWalked("the database stands on another one");
}

}  // namespace
}  // namespace rocksieve::join
