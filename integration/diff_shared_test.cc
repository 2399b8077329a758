// SPDX-License-Identifier: Apache-2.0
// States of one database that share table files, compared by the files that they do not share:
// checkpoints with and without logs, and the database itself, after random histories of all that
// RocksDB can do to a row. Results are those of two scans.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/wide_columns.h>
#include <rocksieve/join/diff.h>

#include "integration/database.h"
#include "integration/seed.h"

namespace rocksieve::join {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;
using rocksdb::Status;
using RowTexts = std::map<std::string, std::string>;

std::string TextOf(const rocksdb::Iterator& row) {
  const rocksdb::WideColumns& columns = row.columns();
  if (columns.size() == 1 && columns.front().name() == rocksdb::kDefaultWideColumnName) {
    return row.value().ToString();
  }
  std::string text;
  for (const rocksdb::WideColumn& column : columns) {
    text += "[" + column.name().ToString() + "=" + column.value().ToString() + "]";
  }
  return text;
}

std::string TextOf(std::string_view value) {
  ReadableValue readable;
  EXPECT_TRUE(ReadValue(value, &readable).ok());
  if (!readable.has_columns) return std::string(readable.plain);
  std::string text;
  for (const auto& [name, bytes] : readable.columns) {
    text += "[" + std::string(name) + "=" + std::string(bytes) + "]";
  }
  return text;
}

RowTexts RowsOf(rocksdb::DB* db) {
  RowTexts rows;
  const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}));
  for (row->SeekToFirst(); row->Valid(); row->Next()) rows[row->key().ToString()] = TextOf(*row);
  EXPECT_TRUE(row->status().ok()) << row->status().ToString();
  return rows;
}

// Key, "here" and "there" with what is in between.
std::vector<std::string> Expected(const RowTexts& here, const RowTexts& there) {
  RowTexts all = here;
  all.insert(there.begin(), there.end());
  std::vector<std::string> lines;
  for (const auto& [key, unused] : all) {
    const auto mine = here.find(key), theirs = there.find(key);
    if (mine == here.end()) {
      lines.push_back("> " + key + " " + theirs->second);
    } else if (theirs == there.end()) {
      lines.push_back("< " + key + " " + mine->second);
    } else if (mine->second != theirs->second) {
      lines.push_back("| " + key + " " + mine->second + " " + theirs->second);
    }
  }
  return lines;
}

std::vector<std::string> Compared(const std::string& here, const std::string& there,
                                  bool read_shared_files, DiffReport* report) {
  std::vector<std::string> lines;
  Input mine, theirs;
  EXPECT_TRUE(Input::OfDirectory(here, "", {}, &mine).ok());
  EXPECT_TRUE(Input::OfDirectory(there, "", {}, &theirs).ok());
  DiffOptions options;
  options.read_shared_files = read_shared_files;
  const Status status = Diff(
      mine, theirs, options,
      [&](const DifferentRow& row) {
        std::string line = row.difference == Difference::kLocalOnly    ? "< "
                           : row.difference == Difference::kRemoteOnly ? "> "
                                                                       : "| ";
        line += row.key;
        if (row.local_value) line += " " + TextOf(*row.local_value);
        if (row.remote_value) line += " " + TextOf(*row.remote_value);
        lines.push_back(line);
        return Status::OK();
      },
      report);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return lines;
}

// Rows go, and older ones of theirs come back, without a write.
class Forgets final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "Forgets"; }
  bool Filter(int, const Slice&, const Slice& value, std::string*, bool*) const override {
    return value.starts_with("b");
  }
};
const Forgets kForgets;

// What a history is made with.
struct Setting {
  std::string name;
  rocksdb::CompressionType compression = rocksdb::kNoCompression;
  uint32_t dictionary_bytes = 0;
  int format_version = 5;
  BlockBasedTableOptions::IndexType index = BlockBasedTableOptions::kBinarySearch;
  bool filters = true, partitioned_filters = false;
  rocksdb::CompactionStyle style = rocksdb::kCompactionStyleLevel;
  bool blobs = false;
  rocksdb::ChecksumType checksum = rocksdb::kXXH3;
  bool compact_often = true;
  bool only_plain = false;
  bool forgets = false;  // a compaction filter removes some values
  bool is_known = true;  // files can be read without RocksDB
};

void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class DiffShared : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    const Setting& setting = GetParam();
    rocksdb::Options& options = options_;
    options.create_if_missing = true;
    options.compression = setting.compression;
    options.compression_opts.max_dict_bytes = setting.dictionary_bytes;
    options.compaction_style = setting.style;
    options.write_buffer_size = 64 << 10;
    options.target_file_size_base = 8 << 10;
    options.max_bytes_for_level_base = 32 << 10;
    options.level0_file_num_compaction_trigger = setting.compact_often ? 3 : 8;
    options.compaction_options_fifo.max_table_files_size = 100 << 10;
    if (setting.forgets) options.compaction_filter = &kForgets;
    options.enable_blob_files = setting.blobs;
    options.min_blob_size = 40;
    EXPECT_TRUE(
        rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options.merge_operator).ok());
    BlockBasedTableOptions table;
    table.block_size = 512;
    table.format_version = static_cast<uint32_t>(setting.format_version);
    table.index_type = setting.index;
    table.partition_filters = setting.partitioned_filters;
    table.metadata_block_size = 256;
    table.checksum = setting.checksum;
    if (setting.filters) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    const Status status = rocksdb::DB::Open(options, directory_ + "db", &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  std::string Key() {
    char key[16];
    std::snprintf(key, sizeof(key), "k%05u", static_cast<unsigned>(Below(3000)));
    return key;
  }
  // Few different ones, so that rows come back to what they were.
  std::string Value() { return std::string(10 + Below(3) * 30, static_cast<char>('a' + Below(3))); }

  void Write() {
    const std::string key = Key();
    const rocksdb::WriteOptions write;
    rocksdb::ColumnFamilyHandle* const family = db_->DefaultColumnFamily();
    Status status;
    const uint64_t what = GetParam().only_plain ? Below(80) : Below(100);
    if (what < 60) {
      status = db_->Put(write, key, Value());
    } else if (what < 80) {
      status = db_->Delete(write, key);
    } else if (what < 86) {
      status = db_->Merge(write, "m" + key, Value());  // not where columns are
    } else if (what < 92) {
      status = db_->PutEntity(write, family, key, {{"", Value()}, {"c", Value()}});
    } else if (what < 97) {
      // SingleDelete() is for keys that were written once: these.
      const std::string single = "s" + key;
      std::string value;
      const bool is_there = db_->Get({}, single, &value).ok();
      status = is_there ? db_->SingleDelete(write, single) : db_->Put(write, single, Value());
    } else {
      const std::string end = key.substr(0, 5) + "9";
      if (Below(8) == 0) status = db_->DeleteRange(write, family, key, end);
    }
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  void Ingest() {
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    const std::string path = directory_ + "ingested" + std::to_string(Below(uint64_t{1} << 40));
    ASSERT_TRUE(writer.Open(path).ok());
    RowTexts rows;
    for (int i = 0; i < 30; i++) rows[Key()] = Value();
    for (const auto& [key, value] : rows) ASSERT_TRUE(writer.Put(key, value).ok());
    if (Below(2) == 0) {
      ASSERT_TRUE(writer.DeleteRange("k01000", "k01010").ok());
    }
    ASSERT_TRUE(writer.Finish().ok());
    rocksdb::IngestExternalFileOptions options;
    options.write_global_seqno = false;
    ASSERT_TRUE(db_->IngestExternalFile({path}, options).ok());
  }

  void Live(int writes) {
    for (int i = 0; i < writes; i++) Write();
    if (GetParam().only_plain) return;
    const uint64_t what = Below(10);
    if (what == 0) Ingest();
    if (what == 1) {
      const Slice begin = "k02000", end = "k02100";
      EXPECT_TRUE(
          rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(), &begin, &end).ok());
    }
    if (what == 2) EXPECT_TRUE(db_->Flush({}).ok());
    if (what == 3) {
      const Slice begin = "k00500", end = "k00900";
      EXPECT_TRUE(db_->CompactRange({}, &begin, &end).ok());
    }
  }

  std::string TakeCheckpoint() {
    rocksdb::Checkpoint* made = nullptr;
    EXPECT_TRUE(rocksdb::Checkpoint::Create(db_.get(), &made).ok());
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    const std::string path = directory_ + "checkpoint" + std::to_string(states_.size());
    // Half of them with the logs as they are.
    const Status status = checkpoint->CreateCheckpoint(path, Below(2) == 0 ? 0 : uint64_t{1} << 40);
    EXPECT_TRUE(status.ok()) << status.ToString();
    // Not of the database: compactions may remove rows meanwhile.
    rocksdb::DB* opened = nullptr;
    Must(rocksdb::DB::OpenForReadOnly(options_, path, &opened));
    const std::unique_ptr<rocksdb::DB> state(opened);
    states_[path] = RowsOf(state.get());
    return path;
  }

  // Returns the shared files that were not read.
  uint64_t ExpectExact(const std::string& here, const std::string& there) {
    SCOPED_TRACE(here + " and " + there);
    DiffReport report, full;
    const std::vector<std::string> expected = Expected(states_[here], states_[there]);
    EXPECT_EQ(Compared(here, there, /*read_shared_files=*/false, &report), expected);
    EXPECT_EQ(Compared(here, there, /*read_shared_files=*/true, &full), expected);
    EXPECT_EQ(0u, full.shared.files);
    EXPECT_EQ(report.local_only_rows, full.local_only_rows);
    EXPECT_EQ(report.remote_only_rows, full.remote_only_rows);
    EXPECT_EQ(report.changed_rows, full.changed_rows);
    EXPECT_LE(report.equal_rows, full.equal_rows);
    return report.shared.files;
  }

  std::mt19937_64 random_{SeedOfThisRun()};
  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_ / "";
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, RowTexts> states_;  // by their directories
};

TEST_P(DiffShared, IsThatOfTwoScans) {
  for (int i = 0; i < 60; i++) Live(100);
  for (int i = 0; i < 5; i++) {
    TakeCheckpoint();
    const auto moments = static_cast<int>(Below(4));
    for (int j = 0; j < moments; j++) Live(static_cast<int>(Below(200)));
  }
  uint64_t not_read = 0;
  for (const auto& [here, rows] : states_) {
    for (const auto& [there, others] : states_) {
      const uint64_t files = ExpectExact(here, there);
      if (here != there) not_read += files;
    }
  }
  if (GetParam().is_known) {
    EXPECT_LT(0u, not_read);
  }
  // The database itself, which is open and has memtables.
  Must(db_->PauseBackgroundWork());
  states_[directory_ + "db"] = RowsOf(db_.get());
  ExpectExact(states_.begin()->first, directory_ + "db");
}

std::vector<Setting> Settings() {
  std::vector<Setting> settings;
  const auto add = [&](const std::string& name) -> Setting& {
    settings.emplace_back();
    settings.back().name = name;
    return settings.back();
  };
  add("Levels");
  add("LevelsWithoutFilters").filters = false;
  add("Plain").only_plain = true;
  add("Universal").style = rocksdb::kCompactionStyleUniversal;
  Setting& fifo = add("Fifo");
  fifo.style = rocksdb::kCompactionStyleFIFO;
  fifo.only_plain = true;
  Setting& forgets = add("Forgets");
  forgets.forgets = true;
  forgets.only_plain = true;
  add("FewCompactions").compact_often = false;
  add("Snappy").compression = rocksdb::kSnappyCompression;
  add("Lz4").compression = rocksdb::kLZ4Compression;
  Setting& zlib = add("ZlibDictionary");
  zlib.compression = rocksdb::kZlibCompression;
  zlib.dictionary_bytes = 4096;
  Setting& zstd = add("ZstdDictionary");
  zstd.compression = rocksdb::kZSTD;
  zstd.dictionary_bytes = 4096;
  Setting& lz4 = add("Lz4Dictionary");
  lz4.compression = rocksdb::kLZ4Compression;
  lz4.dictionary_bytes = 4096;
  Setting& partitioned = add("Partitioned");
  partitioned.index = BlockBasedTableOptions::kTwoLevelIndexSearch;
  partitioned.partitioned_filters = true;
  partitioned.compression = rocksdb::kLZ4Compression;
  add("FormatVersion2").format_version = 2;
  add("Crc32c").checksum = rocksdb::kCRC32c;
  add("Blobs").blobs = true;
  Setting& first_key = add("IndexWithFirstKey");
  first_key.index = BlockBasedTableOptions::kBinarySearchWithFirstKey;
  first_key.is_known = false;
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Settings, DiffShared, ::testing::ValuesIn(Settings()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace rocksieve::join
