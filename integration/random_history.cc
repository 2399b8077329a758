// SPDX-License-Identifier: Apache-2.0
#include "integration/random_history.h"

#include <cstdio>

#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/wide_columns.h>
#include <rocksieve/listener.h>

#include "integration/database.h"

namespace rocksieve::join {
namespace {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;
using rocksdb::Status;

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

// Rows go, and older ones of theirs come back, without a write.
class Forgets final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "Forgets"; }
  bool Filter(int, const Slice&, const Slice& value, std::string*, bool*) const override {
    return value.starts_with("b");
  }
};
const Forgets kForgets;

}  // namespace

std::map<std::string, std::string> RowsOf(rocksdb::DB* db) {
  std::map<std::string, std::string> rows;
  const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}));
  for (row->SeekToFirst(); row->Valid(); row->Next()) rows[row->key().ToString()] = TextOf(*row);
  EXPECT_TRUE(row->status().ok()) << row->status().ToString();
  return rows;
}

std::vector<HistorySetting> HistorySettings() {
  std::vector<HistorySetting> settings;
  const auto add = [&](const std::string& name) -> HistorySetting& {
    settings.emplace_back();
    settings.back().name = name;
    return settings.back();
  };
  add("Levels");
  add("LevelsWithoutFilters").filters = false;
  add("Plain").only_plain = true;
  add("Universal").style = rocksdb::kCompactionStyleUniversal;
  HistorySetting& fifo = add("Fifo");
  fifo.style = rocksdb::kCompactionStyleFIFO;
  fifo.only_plain = true;
  HistorySetting& forgets = add("Forgets");
  forgets.forgets = true;
  forgets.only_plain = true;
  add("FewCompactions").compact_often = false;
  add("Snappy").compression = rocksdb::kSnappyCompression;
  add("Lz4").compression = rocksdb::kLZ4Compression;
  HistorySetting& zlib = add("ZlibDictionary");
  zlib.compression = rocksdb::kZlibCompression;
  zlib.dictionary_bytes = 4096;
  HistorySetting& zstd = add("ZstdDictionary");
  zstd.compression = rocksdb::kZSTD;
  zstd.dictionary_bytes = 4096;
  HistorySetting& lz4 = add("Lz4Dictionary");
  lz4.compression = rocksdb::kLZ4Compression;
  lz4.dictionary_bytes = 4096;
  HistorySetting& partitioned = add("Partitioned");
  partitioned.index = BlockBasedTableOptions::kTwoLevelIndexSearch;
  partitioned.partitioned_filters = true;
  partitioned.compression = rocksdb::kLZ4Compression;
  add("FormatVersion2").format_version = 2;
  add("Crc32c").checksum = rocksdb::kCRC32c;
  add("Blobs").blobs = true;
  HistorySetting& journal = add("Journal");
  journal.journal = true;
  journal.merges = false;
  add("JournalWithMerges").journal = true;
  HistorySetting& plain_journal = add("JournalOfPlainRows");
  plain_journal.journal = true;
  plain_journal.only_plain = true;
  HistorySetting& universal_journal = add("JournalUniversal");
  universal_journal.journal = true;
  universal_journal.merges = false;
  universal_journal.style = rocksdb::kCompactionStyleUniversal;
  HistorySetting& forgotten_journal = add("JournalForgets");
  forgotten_journal.journal = true;
  forgotten_journal.forgets = true;
  forgotten_journal.only_plain = true;
  HistorySetting& fifo_journal = add("JournalFifo");
  fifo_journal.journal = true;
  fifo_journal.style = rocksdb::kCompactionStyleFIFO;
  fifo_journal.only_plain = true;
  HistorySetting& first_key = add("IndexWithFirstKey");
  first_key.index = BlockBasedTableOptions::kBinarySearchWithFirstKey;
  first_key.is_known = false;
  return settings;
}

void PrintTo(const HistorySetting& setting, std::ostream* out) { *out << setting.name; }

RandomHistory::RandomHistory(const HistorySetting& setting, uint64_t seed,
                             const std::string& directory)
    : setting_(setting), directory_(directory), random_(seed) {
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
  if (setting.journal) options.listeners.push_back(NewJournal());
  Reopen(options);
}

void RandomHistory::Reopen(const rocksdb::Options& options) {
  Close();
  rocksdb::DB* db = nullptr;
  const Status status = rocksdb::DB::Open(options, directory_ + "db", &db);
  Must(status);
  db_.reset(db);
}

std::string RandomHistory::Key() {
  char key[16];
  std::snprintf(key, sizeof(key), "k%05u", static_cast<unsigned>(Below(3000)));
  return key;
}
// Few different ones, so that rows come back to what they were.
std::string RandomHistory::Value() {
  return std::string(10 + Below(3) * 30, static_cast<char>('a' + Below(3)));
}

void RandomHistory::Write() {
  const std::string key = Key();
  const rocksdb::WriteOptions write;
  rocksdb::ColumnFamilyHandle* const family = db_->DefaultColumnFamily();
  Status status;
  const uint64_t what = setting_.only_plain ? Below(80) : Below(100);
  if (what < 60) {
    status = db_->Put(write, key, Value());
  } else if (what < 80) {
    status = db_->Delete(write, key);
  } else if (what < 86 && setting_.merges) {
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
  Must(status);
}

void RandomHistory::Ingest() {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
  const std::string path = directory_ + "ingested" + std::to_string(Below(uint64_t{1} << 40));
  Must(writer.Open(path));
  std::map<std::string, std::string> rows;
  for (int i = 0; i < 30; i++) rows[Key()] = Value();
  for (const auto& [key, value] : rows) Must(writer.Put(key, value));
  if (Below(2) == 0) {
    Must(writer.DeleteRange("k01000", "k01010"));
  }
  Must(writer.Finish());
  rocksdb::IngestExternalFileOptions options;
  options.write_global_seqno = false;
  Must(db_->IngestExternalFile({path}, options));
}

void RandomHistory::Live(int writes) {
  for (int i = 0; i < writes; i++) Write();
  if (setting_.only_plain) return;
  const uint64_t what = Below(10);
  if (what == 0) Ingest();
  if (what == 1) {
    const Slice begin = "k02000", end = "k02100";
    Must(rocksdb::DeleteFilesInRange(db_.get(), db_->DefaultColumnFamily(), &begin, &end));
  }
  if (what == 2) Must(db_->Flush({}));
  if (what == 3) {
    const Slice begin = "k00500", end = "k00900";
    Must(db_->CompactRange({}, &begin, &end));
  }
}

}  // namespace rocksieve::join
