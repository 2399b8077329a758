// SPDX-License-Identifier: Apache-2.0
// A database with a history, a snapshot of it, and scans of it by a walk and by RocksDB's iterator.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include "plugin/database/rocksdb_open.h"
#include "plugin/join/rocksdb_source.h"
#include "tests/fuzz/target.h"

namespace rocksieve::fuzz {
namespace {

using join::KeyInterval;
using join::RocksDbSource;
using join::RocksDbSourceOptions;
using join::RowValues;
using rocksdb::BlockBasedTableOptions;

constexpr char kDirectory[] = "/db";
constexpr int kMostWrites = 1500, kMostFinalScans = 24;

void MustBeOk(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

std::string Hex(std::string_view bytes) {
  return rocksdb::Slice(bytes.data(), bytes.size()).ToString(/*hex=*/true);
}

// Everything is chosen by the bytes of an input: how tables are made, what is written, in which
// files of which levels it ends, what is damaged, what is scanned.
class TreeWalkCase {
 public:
  explicit TreeWalkCase(std::string_view input);
  ~TreeWalkCase();

  // Lives through the history and compares. Empty if both ways to read say the same of rows and of
  // errors; else what differs.
  std::string Run();

 private:
  using Source = RocksDbSource;

  void ChooseTable();
  void Open();
  void Write();
  void Ingest();
  void CompactSome();
  bool Damage();
  std::string Key();
  std::string Value();
  std::string Bound();
  std::string Compare();
  std::string CompareDamaged();
  std::string CompareScans(Source* walked, Source* iterated, const KeyInterval& interval);

  Choices choices_;
  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::BlockBasedTableOptions table_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  const rocksdb::Snapshot* snapshot_ = nullptr;
  std::vector<std::string> keys_;  // some of those that were written
  bool has_others_ = false;        // merges, deleted ranges, wide columns
  bool has_checksums_ = true;      // without them, RocksDB believes what is damaged
  std::map<std::string, std::string> intact_rows_;  // before the damage
  int ingested_ = 0;
};

TreeWalkCase::TreeWalkCase(std::string_view input)
    : choices_(input), env_(rocksdb::NewMemEnv(rocksdb::Env::Default())) {
  ChooseTable();
  Open();
}

TreeWalkCase::~TreeWalkCase() {
  if (snapshot_ != nullptr) db_->ReleaseSnapshot(snapshot_);
}

void TreeWalkCase::ChooseTable() {
  BlockBasedTableOptions& table = table_;
  static constexpr size_t kBlockSizes[] = {64, 256, 1024, 4096};
  table.block_size = kBlockSizes[choices_.UpTo(3)];
  table.block_restart_interval = 1 + static_cast<int>(choices_.UpTo(16));
  table.index_block_restart_interval = 1 + static_cast<int>(choices_.UpTo(3));
#if ROCKSDB_MAJOR >= 11
  table.format_version = 2 + static_cast<uint32_t>(choices_.UpTo(5));
#elif ROCKSDB_MAJOR >= 9
  table.format_version = 2 + static_cast<uint32_t>(choices_.UpTo(4));
#else
  table.format_version = 2 + static_cast<uint32_t>(choices_.UpTo(3));
#endif
  static constexpr BlockBasedTableOptions::IndexType kIndexes[] = {
      BlockBasedTableOptions::kBinarySearch,
      BlockBasedTableOptions::kBinarySearch,
      BlockBasedTableOptions::kTwoLevelIndexSearch,
      BlockBasedTableOptions::kTwoLevelIndexSearch,
      BlockBasedTableOptions::kHashSearch,
      BlockBasedTableOptions::kBinarySearchWithFirstKey};
  table.index_type = kIndexes[choices_.UpTo(5)];
  table.metadata_block_size = 128;
  table.partition_filters = choices_.UpTo(3) == 0;
  if (choices_.Flag()) table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.use_delta_encoding = choices_.UpTo(3) != 0;
  if (choices_.UpTo(5) == 0) {
    table.data_block_index_type = BlockBasedTableOptions::kDataBlockBinaryAndHash;
  }
  table.checksum = static_cast<rocksdb::ChecksumType>(choices_.UpTo(4));
  has_checksums_ = table.checksum != rocksdb::kNoChecksum;
  table.no_block_cache = choices_.Flag();
  static constexpr rocksdb::CompressionType kCompressions[] = {
      rocksdb::kNoCompression,  rocksdb::kSnappyCompression, rocksdb::kZlibCompression,
      rocksdb::kLZ4Compression, rocksdb::kLZ4HCCompression,  rocksdb::kZSTD};
  options_.compression = kCompressions[choices_.UpTo(5)];
  if (choices_.UpTo(3) == 0) options_.compression_opts.max_dict_bytes = 1024;
  table.block_align = options_.compression == rocksdb::kNoCompression && choices_.UpTo(5) == 0;
  if (table.block_align) table.block_size = 1024;
  if (choices_.Flag() || table.index_type == BlockBasedTableOptions::kHashSearch) {
    options_.prefix_extractor.reset(rocksdb::NewCappedPrefixTransform(2));
  }
  options_.env = env_.get();
  options_.create_if_missing = true;
  options_.compaction_style =
      choices_.UpTo(3) == 0 ? rocksdb::kCompactionStyleUniversal : rocksdb::kCompactionStyleLevel;
  // One thread does all: what the input says, and in its order.
  options_.disable_auto_compactions = true;
  options_.max_background_jobs = 1;
  options_.target_file_size_base = 512 << choices_.UpTo(5);
  options_.num_levels = 4;
  options_.avoid_flush_during_shutdown = true;
  options_.max_open_files = 100;
  has_others_ = choices_.UpTo(5) == 0;
  if (has_others_) {
    MustBeOk(
        rocksdb::MergeOperator::CreateFromString({}, "stringappend", &options_.merge_operator));
  }
  if (choices_.UpTo(11) == 0) {
    options_.enable_blob_files = true;
    options_.min_blob_size = 30;
  }
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

void TreeWalkCase::Open() {
  MustBeOk(rocksdb::DB::Open(options_, kDirectory, rocksieve::Into(&db_)));
}

std::string TreeWalkCase::Key() {
  const uint64_t kind = choices_.UpTo(15);
  if (kind < 4 && !keys_.empty()) return keys_[choices_.UpTo(keys_.size() - 1)];
  std::string key;
  if (kind == 15) key.assign(100 + choices_.UpTo(400), 'x');
  if (kind > 10) key += "a rather long prefix";
  const uint64_t bytes = choices_.UpTo(6);
  for (uint64_t i = 0; i < bytes; i++) key.push_back("\0\1ab\x7f\x80\xff"[choices_.UpTo(6)]);
  keys_.push_back(key);
  return key;
}

std::string TreeWalkCase::Value() {
  const auto byte = static_cast<char>(choices_.Byte());
  const uint64_t kind = choices_.UpTo(31);
  if (kind == 31) return std::string(5000, byte);
  if (kind == 30) return "\xF7rswcol\xFE" + std::string(3, byte);  // a comparable value's mark
  return std::string(kind * 7, byte);
}

void TreeWalkCase::Write() {
  const rocksdb::WriteOptions write;
  const std::string key = Key();
  const uint64_t kind = choices_.UpTo(63);
  if (kind < 40) {
    MustBeOk(db_->Put(write, key, Value()));
  } else if (kind < 48) {
    MustBeOk(db_->Delete(write, key));
  } else if (kind < 52) {
    // For keys that were written once.
    const std::string single = key + "single";
    std::string value;
    const bool is_there = db_->Get({}, single, &value).ok();
    MustBeOk(is_there ? db_->SingleDelete(write, single) : db_->Put(write, single, Value()));
  } else if (kind < 55) {
    MustBeOk(db_->Flush({}));
  } else if (kind < 58) {
    CompactSome();
  } else if (kind == 58) {
    Ingest();
  } else if (kind == 59 && snapshot_ == nullptr) {
    snapshot_ = db_->GetSnapshot();
  } else if (has_others_ && kind == 60) {
    MustBeOk(db_->Merge(write, key + "merged", Value()));
  } else if (has_others_ && kind == 61) {
    MustBeOk(db_->PutEntity(write, db_->DefaultColumnFamily(), key, {{"", "v"}, {"c", "w"}}));
  } else if (has_others_ && kind == 62) {
    MustBeOk(db_->DeleteRange(write, db_->DefaultColumnFamily(), key, key + "a"));
  }
}

void TreeWalkCase::CompactSome() {
  rocksdb::CompactRangeOptions compact;
  compact.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  rocksdb::ColumnFamilyMetaData data;
  db_->GetColumnFamilyMetaData(&data);
  const uint64_t how = choices_.UpTo(2);
  if (how == 0 || options_.compaction_style == rocksdb::kCompactionStyleUniversal) {
    MustBeOk(db_->CompactRange(compact, nullptr, nullptr));
    return;
  }
  if (how == 1) {
    std::string begin = Bound(), end = Bound();
    if (end < begin) std::swap(begin, end);
    const rocksdb::Slice first = begin, last = end;
    MustBeOk(db_->CompactRange(compact, &first, &last));
    return;
  }
  std::vector<std::string> files;
  for (const auto& file : data.levels[0].files) files.push_back(file.name);
  if (files.empty()) return;
  // Refused if files of levels in between overlap.
  db_->CompactFiles({}, files, 1 + static_cast<int>(choices_.UpTo(2))).PermitUncheckedError();
}

void TreeWalkCase::Ingest() {
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
  const std::string path = "/ingested" + std::to_string(ingested_++);
  MustBeOk(writer.Open(path));
  std::vector<std::string> keys;
  for (int i = 0; i < 12; i++) keys.push_back(Key());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) {
    MustBeOk(choices_.UpTo(3) == 0 ? writer.Delete(key) : writer.Put(key, Value()));
  }
  MustBeOk(writer.Finish());
  rocksdb::IngestExternalFileOptions options;
  options.write_global_seqno = choices_.Flag();
  options.move_files = false;
  MustBeOk(db_->IngestExternalFile({path}, options));
}

// A byte of one table file, mostly where its data blocks are. False if nothing can be compared.
bool TreeWalkCase::Damage() {
  rocksdb::ColumnFamilyMetaData data;
  db_->GetColumnFamilyMetaData(&data);
  std::vector<std::string> paths;
  for (const auto& level : data.levels) {
    for (const auto& file : level.files) paths.push_back(kDirectory + file.name);
  }
  if (paths.empty()) return false;
  const std::string& path = paths[choices_.UpTo(paths.size() - 1)];
  std::string bytes;
  if (snapshot_ != nullptr) db_->ReleaseSnapshot(snapshot_);
  snapshot_ = nullptr;
  {
    const std::unique_ptr<rocksdb::Iterator> row(db_->NewIterator({}));
    for (row->SeekToFirst(); row->Valid(); row->Next()) {
      intact_rows_[row->key().ToString()] = row->value().ToString();
    }
    MustBeOk(row->status());
  }
  db_.reset();
  MustBeOk(rocksdb::ReadFileToString(env_.get(), path, &bytes));
  bytes[choices_.UpTo(bytes.size() / 3)] ^= static_cast<char>(1 + choices_.UpTo(254));
  MustBeOk(rocksdb::WriteStringToFile(env_.get(), bytes, path));
  // What was cached before it was damaged is good.
  table_.no_block_cache = true;
  options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_));
  // Refused if it was the index.
  return rocksdb::DB::Open(options_, kDirectory, rocksieve::Into(&db_)).ok();
}

std::string TreeWalkCase::Bound() {
  std::string bound = keys_.empty() ? "" : keys_[choices_.UpTo(keys_.size() - 1)];
  switch (choices_.UpTo(5)) {
    case 0:
      bound.resize(bound.size() / 2);
      break;
    case 1:
      bound.push_back('\0');
      break;
    case 2:
      bound.push_back('\xff');
      break;
    case 3:
      return std::string(choices_.String());
    default:
      break;
  }
  return bound;
}

std::string TreeWalkCase::CompareScans(Source* walked, Source* iterated,
                                       const KeyInterval& interval) {
  const auto a = walked->Scan(interval), b = iterated->Scan(interval);
  const std::string of = "scan from " + Hex(interval.begin) + " to " +
                         (interval.end ? Hex(*interval.end) : "the end") + ": ";
  join::Row row, other;
  for (uint64_t rows = 0;; rows++) {
    const bool more = a->Next(&row), other_more = b->Next(&other);
    if (more != other_more) {
      return of + "after " + std::to_string(rows) + " rows, " +
             (more ? "the walk has more" : "the iterator has more") + "; " +
             a->status().ToString() + "; " + b->status().ToString();
    }
    if (!more) break;
    if (row.key != other.key) return of + Hex(row.key) + " instead of " + Hex(other.key);
    if (row.value != other.value) return of + "the value of " + Hex(row.key);
  }
  if (a->Next(&row)) return of + "rows after the end";
  if (a->status().code() != b->status().code()) {
    return of + a->status().ToString() + " instead of " + b->status().ToString();
  }
  return "";
}

std::string TreeWalkCase::Compare() {
  RocksDbSourceOptions options;
  options.snapshot = snapshot_;
  options.values = choices_.Flag() ? RowValues::kComparable : RowValues::kPlain;
  options.readahead_bytes = size_t{64} << choices_.UpTo(14);
  const auto walked = RocksDbSource::Open(db_.get(), db_->DefaultColumnFamily(), options);
  options.walk = false;
  const auto iterated = RocksDbSource::Open(db_.get(), db_->DefaultColumnFamily(), options);
  FUZZ_CHECK(walked.ok() && iterated.ok());
  std::string difference = CompareScans(walked->get(), iterated->get(), {});
  const uint64_t scans = choices_.UpTo(kMostFinalScans);
  for (uint64_t i = 0; i < scans && difference.empty(); i++) {
    KeyInterval interval{Bound(), std::nullopt};
    if (choices_.UpTo(3) != 0) interval.end = Bound();
    if (interval.end && *interval.end < interval.begin) std::swap(interval.begin, *interval.end);
    difference = CompareScans(walked->get(), iterated->get(), interval);
  }
  return difference;
}

// A walk gives what there was before, up to where it says that a block is damaged. RocksDB's
// iterator is no oracle for that: it also reads blocks beyond the end, and before 8.3.3 it leaves
// out the rows of a file whose first block is damaged.
std::string TreeWalkCase::CompareDamaged() {
  const auto walked = RocksDbSource::Open(db_.get(), db_->DefaultColumnFamily());
  FUZZ_CHECK(walked.ok());
  const uint64_t scans = 1 + choices_.UpTo(kMostFinalScans);
  for (uint64_t i = 0; i < scans; i++) {
    KeyInterval interval;
    if (i > 0) interval = {Bound(), std::nullopt};
    if (choices_.UpTo(3) != 0) interval.end = Bound();
    if (interval.end && *interval.end < interval.begin) std::swap(interval.begin, *interval.end);
    const auto cursor = (*walked)->Scan(interval);
    auto expected = intact_rows_.lower_bound(interval.begin);
    join::Row row;
    while (cursor->Next(&row)) {
      if (expected == intact_rows_.end() || row.key != expected->first ||
          row.value != expected->second) {
        // What RocksDB's iterator gives from there on is its own.
        const std::string& why_not = (*walked)->why_not_walked();
        if (!why_not.empty()) return "";
        return "with damage, not the row " + Hex(row.key);
      }
      ++expected;
    }
    if (!(*walked)->why_not_walked().empty()) return "";
    if (!cursor->status().ok()) {
      if (!absl::IsDataLoss(cursor->status())) return cursor->status().ToString();
    } else if (expected !=
               (interval.end ? intact_rows_.lower_bound(*interval.end) : intact_rows_.end())) {
      return "with damage, rows are missing from " + Hex(expected->first) + " on";
    }
  }
  return "";
}

std::string TreeWalkCase::Run() {
  const bool flushes = choices_.UpTo(7) != 0, damages = choices_.UpTo(7) == 0;
  const uint64_t writes = choices_.UpTo(kMostWrites);
  for (uint64_t i = 0; i < writes && choices_.remaining() > 64; i++) Write();
  if (flushes) MustBeOk(db_->Flush({}));
  std::string difference = Compare();
  if (difference.empty() && damages && flushes && has_checksums_ && Damage()) {
    difference = CompareDamaged();
  }
  return difference;
}

}  // namespace
}  // namespace rocksieve::fuzz

// A history of a database, as scans of a join see it that walk through its table files.
//
// Oracle: RocksDB's iterator has the same rows and errors, whatever the bounds.
FUZZ_TARGET(tree_walk) {
  using namespace rocksieve::fuzz;
  TreeWalkCase history(input);
  const std::string difference = history.Run();
  if (!difference.empty()) std::fprintf(stderr, "%s\n", difference.c_str());
  FUZZ_CHECK(difference.empty());
}
