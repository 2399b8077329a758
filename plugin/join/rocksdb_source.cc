// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/rocksdb_source.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <absl/strings/str_cat.h>
#include <rocksdb/comparator.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/version.h>

#include "plugin/join/comparable_value.h"
#include "plugin/join/status.h"
#include "plugin/join/tree_walk.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using rocksdb::Slice;

bool IsBytewise(rocksdb::ColumnFamilyHandle* family) {
  return std::string_view(family->GetComparator()->Name()) == rocksdb::BytewiseComparator()->Name();
}

absl::Status CheckComparator(rocksdb::ColumnFamilyHandle* family, bool any_order) {
  const rocksdb::Comparator* comparator = family->GetComparator();
  const std::string what = "column family \"" + family->GetName() + "\"";
  if (comparator->timestamp_size() != 0) {
    return absl::UnimplementedError(absl::StrCat(what, " has user-defined timestamps (comparator ",
                                                 comparator->Name(),
                                                 "), which a join does not understand"));
  }
  if (any_order || IsBytewise(family)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is ordered by ", comparator->Name(), ", and a scan by its keys needs ",
      rocksdb::BytewiseComparator()->Name(),
      ". Let rocksieve join take key.bytes(0) instead, on its side: it is the whole key, and "
      "sorted anew"));
}

// Scans under way at once that see the frozen state. A session needs four at most; further scans
// see what the snapshot shows.
constexpr size_t kPinned = 6;
constexpr size_t kPinnedWithoutReadahead = 2;

uint64_t Property(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const std::string& name) {
  uint64_t value = 0;
  return db->GetIntProperty(family, name, &value) ? value : 0;
}

// RocksDB's own estimate is of memtables alone for a database that was opened without reading its
// files' statistics, as a read-only snapshot is.
uint64_t EstimateAllKeys(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  using Properties = rocksdb::DB::Properties;
  uint64_t entries = Property(db, family, Properties::kNumEntriesActiveMemTable) +
                     Property(db, family, Properties::kNumEntriesImmMemTables);
  const uint64_t estimated = Property(db, family, Properties::kEstimateNumKeys);
  if (estimated > entries) return estimated;
  uint64_t deletions = Property(db, family, Properties::kNumDeletesActiveMemTable) +
                       Property(db, family, Properties::kNumDeletesImmMemTables);
  rocksdb::TablePropertiesCollection tables;
  if (db->GetPropertiesOfAllTables(family, &tables).ok()) {
    for (const auto& [path, properties] : tables) {
      entries += properties->num_entries;
      deletions += properties->num_deletions;
    }
  }
  // Each deletion hides one entry, mostly.
  return entries > 2 * deletions ? entries - 2 * deletions : 0;
}

}  // namespace

bool IteratorCursor::Next(Row* row) {
  if (ended_) return false;
  if (started_) iterator_->Next();
  started_ = true;
  ended_ = !iterator_->Valid() || (end_ && iterator_->key().ToStringView() >= *end_);
  if (check_ != nullptr) {
    const rocksdb::Slice key = ended_ ? rocksdb::Slice() : iterator_->key();
    checked_ = check_(ended_ ? nullptr : &key);
    ended_ = ended_ || !checked_.ok();
  }
  if (ended_) return false;
  *row = {iterator_->key().ToStringView(), values_ == RowValues::kComparable
                                               ? ComparableValue(*iterator_, &comparable_)
                                               : iterator_->value().ToStringView()};
  return true;
}

absl::Status IteratorCursor::status() const {
  return FromRocksDb(checked_.ok() ? iterator_->status() : checked_, doing_);
}

absl::StatusOr<std::unique_ptr<RocksDbSource>> RocksDbSource::Open(
    rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const RocksDbSourceOptions& options) {
  RETURN_IF_ERROR(CheckComparator(family, options.any_order));
  std::unique_ptr<RocksDbSource> source(new RocksDbSource(db, family, options));
  if (source->read_.snapshot == nullptr) {
    return absl::UnimplementedError(
        "this database gives no snapshots (a secondary instance, or memtables without them); open "
        "it read-only instead");
  }
  source->PinIterators();
  for (const IdleIterator& idle : source->idle_) {
    RETURN_IF_ERROR(
        FromRocksDb(idle.iterator->status(),
                    "cannot read column family \"" + family->GetName() + "\" under a snapshot"));
  }
  source->PrepareWalks();
  source->Estimate();
  return source;
}

RocksDbSource::RocksDbSource(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                             const RocksDbSourceOptions& options)
    : db_(db), family_(family), options_(options) {
  if (options_.snapshot == nullptr) own_snapshot_ = db_->GetSnapshot();
  read_.snapshot = options_.snapshot != nullptr ? options_.snapshot : own_snapshot_;
  read_.fill_cache = false;
  read_.total_order_seek = true;
  read_.auto_prefix_mode = false;
  read_.readahead_size = options_.readahead_bytes;
  read_.verify_checksums = options_.verify_checksums;
  read_.rate_limiter_priority = options_.rate_limiter_priority;
  read_.background_purge_on_iterator_cleanup = true;
  if (options_.interval.end) {
    end_ = *options_.interval.end;
    read_.iterate_upper_bound = &end_;
  }
}

RocksDbSource::~RocksDbSource() {
  tree_.memtables.reset();
  idle_.clear();
  idle_without_readahead_.clear();
  if (own_snapshot_ != nullptr) db_->ReleaseSnapshot(own_snapshot_);
}

std::vector<std::string> RocksDbSource::Cuts(const KeyInterval& interval, size_t parts) {
  const KeyInterval shown = Shown(interval);
  std::map<int, uint64_t> bytes_of_level;
  std::vector<const LiveTable*> files;
  for (const LiveTable& file : tree_.files) {
    if (!shown.Contains(file.smallest)) continue;
    bytes_of_level[file.level] += file.bytes;
    files.push_back(&file);
  }
  std::vector<std::string> cuts;
  if (files.empty()) return cuts;
  const auto [level, all_bytes] =
      *std::max_element(bytes_of_level.begin(), bytes_of_level.end(),
                        [](const auto& a, const auto& b) { return a.second < b.second; });
  const double part = static_cast<double>(all_bytes) / static_cast<double>(parts);
  double before = 0, next = part;  // bytes
  for (const LiveTable* file : files) {
    if (file->level != level) continue;
    if (before >= next && file->smallest > (cuts.empty() ? shown.begin : cuts.back())) {
      cuts.push_back(file->smallest);
      next = (std::floor(before / part) + 1) * part;
    }
    before += static_cast<double>(file->bytes);
  }
  return cuts;
}

KeyInterval RocksDbSource::Shown(const KeyInterval& interval) const {
  KeyInterval shown = {std::max(interval.begin, options_.interval.begin), interval.end};
  const std::optional<std::string>& last = options_.interval.end;
  if (last && (!shown.end || *last < *shown.end)) shown.end = last;
  return shown;
}

std::string RocksDbSource::Doing() const {
  return "cannot scan column family \"" + family_->GetName() + "\"";
}

std::unique_ptr<Cursor> RocksDbSource::Scan(const KeyInterval& interval) {
  KeyInterval shown = Shown(interval);
  const bool is_of_one_key = shown.end && shown.end->size() == shown.begin.size() + 1 &&
                             shown.end->back() == '\0' &&
                             shown.end->compare(0, shown.begin.size(), shown.begin) == 0;
  const bool walks = !is_of_one_key && why_not_walked().empty();
  if (!walks) return ScanByIterator(std::move(shown), /*with_readahead=*/!is_of_one_key);
  return std::make_unique<WalkingCursor>(
      &walked_, std::move(shown), options_.values, Doing(),
      [this](KeyInterval rest) { return ScanByIterator(std::move(rest), /*with_readahead=*/true); },
      [this](std::string why) {
        const std::lock_guard<std::mutex> lock(mutex_);
        why_not_walked_ = std::move(why);
      });
}

std::string RocksDbSource::why_not_walked() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return why_not_walked_;
}

std::unique_ptr<Cursor> RocksDbSource::ScanByIterator(KeyInterval shown, bool with_readahead) {
  std::unique_ptr<rocksdb::Iterator> iterator;
  std::string last_key;
  std::vector<IdleIterator>* idle = &idle_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!with_readahead && !idle_without_readahead_.empty()) idle = &idle_without_readahead_;
    if (!idle->empty()) {
      iterator = std::move(idle->back().iterator);
      last_key = std::move(idle->back().last_key);
      idle->pop_back();
    }
  }
  IteratorCursor::GiveBack give_back;
  if (iterator != nullptr) {
    give_back = [this, idle, key = with_readahead ? std::string() : shown.begin](
                    std::unique_ptr<rocksdb::Iterator> used) {
      const std::lock_guard<std::mutex> lock(mutex_);
      idle->push_back({std::move(used), key});
    };
  } else {
    iterator.reset(db_->NewIterator(read_, family_));
  }
  // Then no seek shall pass the deleted rows in between again.
  const bool stands_there = !last_key.empty() && last_key < shown.begin &&
                            iterator->status().ok() &&
                            (!iterator->Valid() || iterator->key().ToStringView() >= shown.begin);
  if (shown.begin.empty()) {
    iterator->SeekToFirst();  // whatever the order
  } else if (!stands_there) {
    iterator->Seek(shown.begin);
  }
  IteratorCursor::Check check = with_readahead ? FirstBlocksOf(shown) : nullptr;
  return std::make_unique<IteratorCursor>(std::move(iterator), std::move(shown.end), Doing(),
                                          options_.values, std::move(check), std::move(give_back));
}

IteratorCursor::Check RocksDbSource::FirstBlocksOf(const KeyInterval& interval) {
  constexpr bool kNeeded = ROCKSDB_MAJOR * 10000 + ROCKSDB_MINOR * 100 + ROCKSDB_PATCH < 80303;
  if (!kNeeded || tree_.files.empty()) return nullptr;
  return [this, interval, next = size_t{0},
          order = family_->GetComparator()](const Slice* key) mutable {
    for (; next < tree_.files.size(); next++) {  // by rising first keys
      const LiveTable& file = tree_.files[next];
      if (key != nullptr ? order->Compare(*key, file.smallest) < 0
                         : interval.end && file.smallest >= *interval.end) {
        break;
      }
      if (file.level == 0 || file.largest < interval.begin) continue;
      RETURN_IF_ERROR(CheckFirstBlock(file));
    }
    return rocksdb::Status::OK();
  };
}

rocksdb::Status RocksDbSource::CheckFirstBlock(const LiveTable& file) {
  constexpr size_t kReadBytes = 16 << 10;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (checked_.count(file.path) > 0) return rocksdb::Status::OK();
  }
  std::unique_ptr<TableEntries> entries;
  rocksdb::Status status =
      TableEntries::Open(tree_.env, file.path, kReadBytes, /*limiter=*/nullptr, &entries);
  if (status.ok()) {
    status = entries->CheckFirstBlock();
  } else {  // another format, or damaged
    status = CheckFirstBlockByRocksDb(file.path);
  }
  if (status.IsCorruption()) return status;
  const std::lock_guard<std::mutex> lock(mutex_);
  checked_.insert(file.path);
  return rocksdb::Status::OK();
}

rocksdb::Status RocksDbSource::CheckFirstBlockByRocksDb(const std::string& path) {
  rocksdb::SstFileReader reader(db_->GetOptions(family_));
  RETURN_IF_ERROR(reader.Open(path));
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.total_order_seek = true;
  const std::unique_ptr<rocksdb::Iterator> rows(reader.NewIterator(read));
  rows->SeekToFirst();
  const rocksdb::Status status = rows->status();
  return status.IsCorruption() ? rocksdb::Status::Corruption(path, status.ToString()) : status;
}

// All of one state: if the memtables or files changed in between, again. In a database so busy that
// they always do, the last ones made must do; what could be seen between them is only what ignores
// snapshots.
void RocksDbSource::PinIterators() {
  constexpr int kAttempts = 10;
  const std::string& state = rocksdb::DB::Properties::kCurrentSuperVersionNumber;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    const uint64_t before = Property(db_, family_, state);
    idle_.clear();
    idle_without_readahead_.clear();
    rocksdb::ReadOptions without_readahead = read_;
    without_readahead.readahead_size = 0;
    for (size_t i = 0; i < kPinned; i++) {
      idle_.push_back({std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(read_, family_)), ""});
    }
    for (size_t i = 0; i < kPinnedWithoutReadahead; i++) {
      idle_without_readahead_.push_back(
          {std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(without_readahead, family_)), ""});
    }
    // Memtables and files last: whatever moved between them and the iterators shows in the number.
    PinTree(db_, family_, read_, &tree_);
    if (Property(db_, family_, state) == before) {
      tree_is_pinned_ = IsBytewise(family_) && before != 0;
      return;
    }
  }
}

void RocksDbSource::PrepareWalks() {
  if (!options_.walk) {
    why_not_walked_ = "it is not wanted";
  } else if (!tree_is_pinned_) {
    why_not_walked_ = "the files are not those of the pinned iterators";
  } else {
    why_not_walked_ = WhyNotWalked(db_, read_, tree_);
  }
  if (why_not_walked_.empty()) walked_ = WalkedTreeOf(db_, read_, tree_);
}

std::unique_ptr<ExistingFilterReader> RocksDbSource::ExistingFilters(const KeyInterval& interval) {
  if (!tree_is_pinned_) return nullptr;
  return ReadSstFilters(&tree_, Shown(interval));
}

// RocksDB estimates for all keys; of an interval, as many as its share of the bytes.
void RocksDbSource::Estimate() {
  estimated_keys_ = EstimateAllKeys(db_, family_);
  const KeyInterval& interval = options_.interval;
  if (interval.begin.empty() && !interval.end) return;
  rocksdb::ReadOptions unbounded = read_;
  unbounded.iterate_upper_bound = nullptr;
  const std::unique_ptr<rocksdb::Iterator> ends(db_->NewIterator(unbounded, family_));
  ends->SeekToLast();
  if (!ends->Valid()) return;
  const std::string after_all = ends->key().ToString() + '\0';
  const rocksdb::Range ranges[] = {
      {Slice(interval.begin), interval.end ? Slice(*interval.end) : Slice(after_all)},
      {Slice(), Slice(after_all)}};
  rocksdb::SizeApproximationOptions sizes;
  sizes.include_memtables = true;
  sizes.include_files = true;
  uint64_t bytes[2] = {0, 0};
  const bool known = db_->GetApproximateSizes(sizes, family_, ranges, 2, bytes).ok();
  if (!known || bytes[1] == 0) return;
  const double share = std::min(1.0, static_cast<double>(bytes[0]) / static_cast<double>(bytes[1]));
  estimated_keys_ = static_cast<uint64_t>(std::ceil(share * static_cast<double>(estimated_keys_)));
}

}  // namespace rocksieve::join
