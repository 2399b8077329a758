// SPDX-License-Identifier: Apache-2.0
// The rows of a tree of table files, by the files' entries: what RocksDB's iterator shows of files
// that have neither operands of merges nor deleted ranges, for a third of its processor time.
//
// Of each key, the newest entry that the snapshot sees decides: a value is its row, a deletion
// hides older ones. What is not known here ends the walk, after the last key that it has decided
// about: from there on RocksDB's iterator has to go on, which also says what is wrong with a
// damaged file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>

#include "lib/join/rows/source.h"
#include "plugin/join/comparable_value.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/status.h"
#include "plugin/tables/table_entries.h"

namespace rocksieve::join {

// What a tree's walks share.
struct WalkedTree {
  // Files that do not overlap, in the order of their keys.
  using Run = std::vector<LiveTable>;
  // Opened files that nobody reads.
  using IdleFiles = std::vector<std::unique_ptr<TableEntries>>;

  // Opens a file, or takes it of `idle`. NotSupported, and why, if it cannot be walked.
  rocksdb::Status Open(const LiveTable& file, std::unique_ptr<TableEntries>* entries);
  void GiveBack(std::unique_ptr<TableEntries> entries);

  rocksdb::Env* env = nullptr;
  std::vector<Run> runs;
  uint64_t sequence = 0;  // of the snapshot
  size_t readahead_bytes = 0;
  std::shared_ptr<rocksdb::RateLimiter> limiter;  // may be null
  // Of what is idle: the walks may be those of several threads.
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
  IdleFiles idle;
};

class TreeWalk {
 public:
  // Of an interval's rows. `tree` must outlive it.
  TreeWalk(WalkedTree* tree, const KeyInterval& interval);
  ~TreeWalk();
  TreeWalk(const TreeWalk&) = delete;
  TreeWalk& operator=(const TreeWalk&) = delete;

  // False at the end, and where it cannot go on: status(), Corruption if a block is damaged. The
  // value is the plain one.
  bool Next(Row* row);
  const rocksdb::Status& status() const { return status_; }
  // What was decided about: all keys up to this one, itself included. Nothing yet: all below the
  // interval.
  std::optional<std::string_view> decided() const;

 private:
  // A run's file, where it stands.
  struct Head {
    const WalkedTree::Run* run = nullptr;
    size_t next_file = 0;
    std::unique_ptr<TableEntries> entries;
    std::optional<uint64_t> sequence;  // of all its entries: the file was ingested
    uint64_t prefix = 0;               // the key's first bytes, by which most keys differ

    std::string_view key() const { return entries->entry().user_key; }
    uint64_t SequenceOfEntry() const { return sequence.value_or(entries->entry().sequence); }
  };

  bool Step(Head* head);
  bool OpenNextFile(Head* head);
  bool Advance();
  void MoveDown();
  static bool IsBefore(const Head& a, const Head& b);
  bool Fail(rocksdb::Status status);
  void Decide(const Head& head);
  bool IsDecided(const Head& head) const;

  WalkedTree* const tree_;
  const KeyInterval interval_;
  uint64_t end_prefix_ = 0;
  std::vector<std::unique_ptr<Head>> heads_;  // in the order of where they stand
  bool started_ = false, ended_ = false;
  bool any_decided_ = false;
  std::string decided_;  // with room behind it
  uint64_t decided_prefix_ = 0;
  size_t decided_bytes_ = 0;
  rocksdb::Status status_;
};

// Whether rows can be read by a walk: all its conditions.
//
// Everything else goes through RocksDB's iterator, also from the middle of a scan on: a file is
// only judged when the scan comes to it, and an entry of an unknown kind, or a block that cannot be
// read, is found even later.
//
// Empty if the pinned tree, as iterators with the same options show it, can be walked; else why
// not, as part of a sentence. REQUIRES: keys are ordered bytewise and have no timestamps.
std::string WhyNotWalked(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const PinnedTree& tree);

// Likewise of a file, which could be opened and so has a format, an index and, as far as it says,
// entries that are known.
std::string WhyNotWalked(const LiveTable& file, const TableEntries& entries);

// What a walk needs to know of a pinned tree. `db` must outlive it.
WalkedTree WalkedTreeOf(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                        const PinnedTree& tree);

// A scan that walks as far as it can, and goes on with RocksDB's iterator.
//
// A damaged block is an error at once: RocksDB before 8.3.3 leaves out all rows of a file whose
// first block is damaged, without a word, where it comes to the file in the course of a scan
// (MergingIterator::SkipNextDeleted() does not ask for the status).
class WalkingCursor final : public Cursor {
 public:
  // `doing` as FromRocksDb() has it. `scan` gives the rows of an interval otherwise.
  // `tell` is told why, if that is needed. The tree must outlive the cursor.
  WalkingCursor(WalkedTree* tree, KeyInterval interval, RowValues values, std::string doing,
                std::function<std::unique_ptr<Cursor>(KeyInterval)> scan,
                std::function<void(std::string why)> tell)
      : interval_(std::move(interval)),
        values_(values),
        doing_(std::move(doing)),
        scan_(std::move(scan)),
        tell_(std::move(tell)),
        walk_(std::make_unique<TreeWalk>(tree, interval_)) {}

  bool Next(Row* row) override {
    if (others_ != nullptr) return others_->Next(row);
    if (!status_.ok()) return false;
    if (!walk_->Next(row)) return !walk_->status().ok() && GoOn() && others_->Next(row);
    if (values_ == RowValues::kComparable) row->value = ComparableValue(row->value, &comparable_);
    return true;
  }

  absl::Status status() const override { return others_ == nullptr ? status_ : others_->status(); }

 private:
  // False if it must not.
  bool GoOn() {
    if (walk_->status().IsCorruption()) {
      status_ = FromRocksDb(walk_->status(), doing_);
      return false;
    }
    tell_(walk_->status().ToString());
    KeyInterval rest = interval_;
    if (const auto decided = walk_->decided()) rest.begin = std::string(*decided) + '\0';
    walk_.reset();
    others_ = scan_(std::move(rest));
    return true;
  }

  const KeyInterval interval_;
  const RowValues values_;
  const std::string doing_;
  const std::function<std::unique_ptr<Cursor>(KeyInterval)> scan_;
  const std::function<void(std::string why)> tell_;
  std::unique_ptr<TreeWalk> walk_;
  std::unique_ptr<Cursor> others_;  // when the walk has ended early
  absl::Status status_;
  std::string comparable_;
};

}  // namespace rocksieve::join
