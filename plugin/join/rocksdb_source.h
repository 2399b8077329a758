// SPDX-License-Identifier: Apache-2.0
// The rows of a column family, as a snapshot shows them, for a join.
//
// What a Get() under the snapshot would answer is what a scan gives: merges are applied, deleted
// keys are absent. The state is frozen more strictly than RocksDB's snapshots are, which compaction
// filters, DeleteFilesInRange() and FIFO compaction do not respect: scans use iterators that were
// all made at the start and hold its memtables and files. They are held until the source goes.
//
// The filters of its SST files are those of the files that the pinned iterators hold, so that they
// have every key that a scan shows, whatever is written, flushed, compacted or dropped meanwhile.
// Where RocksDB changed the files so often that it cannot be known which these are, there are none.
//
// Where only table files matter, scans walk through these (tree_walk.h), and else, or from there
// on, RocksDB's iterators are read. They leave the block cache alone, and see every key, whatever
// the prefix extractor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>
#include <rocksdb/db.h>

#include "lib/join/rows/source.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/tree_walk.h"

namespace rocksieve::join {

// Rows of an iterator, from where it stands up to but without `end`.
class IteratorCursor final : public Cursor {
 public:
  // Whether all files that begin at or before a key are as they should be; null: all that there
  // are.
  using Check = std::function<rocksdb::Status(const rocksdb::Slice* key)>;
  // Takes the iterator at the end, to be used again; null: it goes.
  using GiveBack = std::function<void(std::unique_ptr<rocksdb::Iterator>)>;

  // `doing` as FromRocksDb() has it. `check`, if there is one, comes before each row and at the
  // end.
  IteratorCursor(std::unique_ptr<rocksdb::Iterator> iterator, std::optional<std::string> end,
                 std::string doing, RowValues values, Check check = nullptr,
                 GiveBack give_back = nullptr)
      : iterator_(std::move(iterator)),
        end_(std::move(end)),
        doing_(std::move(doing)),
        values_(values),
        check_(std::move(check)),
        give_back_(std::move(give_back)) {}
  ~IteratorCursor() override {
    if (give_back_ != nullptr) give_back_(std::move(iterator_));
  }

  bool Next(Row* row) override;
  absl::Status status() const override;

 private:
  std::unique_ptr<rocksdb::Iterator> iterator_;
  const std::optional<std::string> end_;
  const std::string doing_;
  const RowValues values_;
  const Check check_;
  const GiveBack give_back_;
  rocksdb::Status checked_;
  std::string comparable_;
  bool started_ = false, ended_ = false;
};

struct RocksDbSourceOptions {
  KeyInterval interval;  // the part of the column family to show
  // The caller's, who keeps it as long as the source lives; the source takes one if null.
  const rocksdb::Snapshot* snapshot = nullptr;
  size_t readahead_bytes = 1 << 20;
  bool verify_checksums = true;
  rocksdb::Env::IOPriority rate_limiter_priority = rocksdb::Env::IO_TOTAL;  // as ReadOptions'
  RowValues values = RowValues::kPlain;
  // Takes any comparator: for the rows a JoinKeySource sorts, not for a join on the keys. The
  // interval must be that of all keys, and so must be those that are scanned.
  bool any_order = false;
  bool walk = true;  // where that is possible
};

class RocksDbSource final : public Source {
 public:
  // `db` and `family` must outlive it. InvalidArgument unless keys are ordered bytewise (or
  // any_order), without timestamps.
  static absl::StatusOr<std::unique_ptr<RocksDbSource>> Open(
      rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
      const RocksDbSourceOptions& options = RocksDbSourceOptions());
  ~RocksDbSource() override;

  // Cursors must not outlive the source.
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override;
  uint64_t EstimateKeys() override { return estimated_keys_; }
  // Where table files begin, those of the level that has most bytes.
  std::vector<std::string> Cuts(const KeyInterval& interval, size_t parts) override;
  // Why scans read, or from now on will read, RocksDB's iterators; empty if they walk.
  std::string why_not_walked() const;
  std::unique_ptr<ExistingFilterReader> ExistingFilters(const KeyInterval& interval) override;

 private:
  RocksDbSource(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                const RocksDbSourceOptions& options);
  struct IdleIterator {
    std::unique_ptr<rocksdb::Iterator> iterator;
    // If it scanned just this key last: it stands there, or at the first row after it. Else empty.
    std::string last_key;
  };
  std::string Doing() const;
  KeyInterval Shown(const KeyInterval& interval) const;
  std::unique_ptr<Cursor> ScanByIterator(KeyInterval shown, bool with_readahead);
  // RocksDB's iterators before 8.3.3 leave out, without a word, all rows of a file below level 0
  // whose first block is damaged.
  IteratorCursor::Check FirstBlocksOf(const KeyInterval& interval);
  rocksdb::Status CheckFirstBlock(const LiveTable& file);
  rocksdb::Status CheckFirstBlockByRocksDb(const std::string& path);
  void PinIterators();
  void PrepareWalks();
  void Estimate();

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const family_;
  const RocksDbSourceOptions options_;
  rocksdb::Slice end_;  // of options_.interval
  rocksdb::ReadOptions read_;
  const rocksdb::Snapshot* own_snapshot_ = nullptr;
  mutable std::mutex mutex_;  // of idle iterators, checked files, and of why rows are not walked
  std::vector<IdleIterator> idle_;
  // Of the same state, for scans of one key, which would be mostly what is read ahead.
  std::vector<IdleIterator> idle_without_readahead_;
  PinnedTree tree_;
  // It is just what the first iterators show, in bytewise order.
  bool tree_is_pinned_ = false;
  WalkedTree walked_;
  std::string why_not_walked_;
  std::set<std::string> checked_;  // by path, files whose first blocks are intact
  uint64_t estimated_keys_ = 0;
};

}  // namespace rocksieve::join
