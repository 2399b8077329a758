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
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/rate_limiter.h>
#include <rocksdb/status.h>

#include "lib/join/rows/source.h"
#include "plugin/tables/table_entries.h"

namespace rocksieve::join {

// What a tree's walks share.
struct WalkedTree {
  struct File {
    std::string path;
    std::string smallest, largest;  // user keys
    uint64_t smallest_sequence = 0, largest_sequence = 0;
  };
  // Files that do not overlap, in the order of their keys.
  using Run = std::vector<File>;
  // Opened files that nobody reads.
  using IdleFiles = std::vector<std::unique_ptr<TableEntries>>;

  // Opens a file, or takes it of `idle`. NotSupported, and why, if it cannot be walked.
  rocksdb::Status Open(const File& file, std::unique_ptr<TableEntries>* entries);
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

}  // namespace rocksieve::join
