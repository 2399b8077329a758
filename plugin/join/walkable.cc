// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/walkable.h"

#include <map>
#include <set>

#include <rocksdb/comparator.h>

namespace rocksieve::join {
namespace {

// Each takes a buffer of what is read ahead.
constexpr size_t kMostRuns = 32;

size_t CountRuns(const PinnedTree& tree) {
  size_t runs = 0;
  std::set<int> levels;
  for (const PinnedTree::File& file : tree.files) {
    if (file.level == 0 || levels.insert(file.level).second) runs++;
  }
  return runs;
}

}  // namespace

std::string WhyNotWalked(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                         const PinnedTree& tree) {
  // Transactions decide otherwise what is visible, and DBWithTTL cuts values.
  if (db->GetRootDB() != db) return "the database stands on another one (StackableDB)";
  if (!tree.memtable_entries_known) return "it is not known what memtables hold";
  if (tree.memtable_entries > 0) {
    return "memtables hold " + std::to_string(tree.memtable_entries) + " entries";
  }
  if (options.rate_limiter_priority != rocksdb::Env::IO_TOTAL &&
      options.rate_limiter_priority != rocksdb::Env::IO_LOW) {
    return "reads have a priority of their own";
  }
  const size_t runs = CountRuns(tree);
  return runs <= kMostRuns ? "" : "there are " + std::to_string(runs) + " sorted runs";
}

std::string WhyNotWalked(const WalkedTree::File& file, const TableEntries& entries) {
  const TableProperties& properties = entries.table().properties();
  if (properties.merge_operands > 0) return "it has operands of merges";
  if (properties.range_deletions > 0 || !entries.deleted_ranges().empty()) {
    return "it has deleted ranges";
  }
  if (properties.comparator_name != rocksdb::BytewiseComparator()->Name()) {
    return "its keys are ordered by " + properties.comparator_name;
  }
  if (properties.is_external && file.smallest_sequence != file.largest_sequence) {
    return "it was ingested with several sequence numbers";
  }
  return "";
}

WalkedTree WalkedTreeOf(rocksdb::DB* db, const rocksdb::ReadOptions& options,
                        const PinnedTree& tree) {
  WalkedTree walked;
  walked.env = tree.env;
  walked.sequence = options.snapshot->GetSequenceNumber();
  walked.readahead_bytes = options.readahead_size;
  if (options.rate_limiter_priority != rocksdb::Env::IO_TOTAL) {
    walked.limiter = db->GetDBOptions().rate_limiter;
  }
  std::map<int, WalkedTree::Run> levels;
  for (const PinnedTree::File& file : tree.files) {
    WalkedTree::File of_walk{file.path, file.smallest, file.largest, file.smallest_sequence,
                             file.largest_sequence};
    if (file.level == 0) {
      walked.runs.push_back({std::move(of_walk)});
    } else {
      levels[file.level].push_back(std::move(of_walk));
    }
  }
  for (auto& [level, run] : levels) walked.runs.push_back(std::move(run));
  return walked;
}

}  // namespace rocksieve::join
