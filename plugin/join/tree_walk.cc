// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/tree_walk.h"

#include <algorithm>
#include <cstring>

#include <rocksdb/comparator.h>

#include "lib/format/coding.h"

namespace rocksieve::join {
namespace {

using rocksdb::Status;

constexpr size_t kMostIdleFiles = 16;

// In the order of keys, but for keys that have the same first bytes, or differ in zeros at the end.
uint64_t PrefixOf(std::string_view key) {
  uint64_t prefix = 0;
  if (key.size() >= sizeof(prefix)) {
    std::memcpy(&prefix, key.data(), sizeof(prefix));
  } else {
    std::memcpy(&prefix, key.data(), key.size());
  }
  return kLittleEndianHost ? __builtin_bswap64(prefix) : prefix;
}

}  // namespace

Status WalkedTree::Open(const LiveTable& file, std::unique_ptr<TableEntries>* entries) {
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    for (auto found = idle.begin(); found != idle.end(); ++found) {
      if ((*found)->table().path() != file.path) continue;
      *entries = std::move(*found);
      idle.erase(found);
      return Status::OK();
    }
  }
  const Status status = TableEntries::Open(env, file.path, readahead_bytes, limiter.get(), entries);
  // Not as damage: it may be another format.
  if (!status.ok()) return Status::NotSupported(status.ToString());
  const std::string why_not = WhyNotWalked(file, **entries);
  return why_not.empty() ? status : Status::NotSupported(file.path + ": " + why_not);
}

void WalkedTree::GiveBack(std::unique_ptr<TableEntries> entries) {
  if (entries == nullptr || !entries->status().ok()) return;
  const std::lock_guard<std::mutex> lock(*mutex);
  if (idle.size() == kMostIdleFiles) idle.erase(idle.begin());
  idle.push_back(std::move(entries));
}

TreeWalk::TreeWalk(WalkedTree* tree, const KeyInterval& interval)
    : tree_(tree), interval_(interval) {
  if (interval_.end) end_prefix_ = PrefixOf(*interval_.end);
}

TreeWalk::~TreeWalk() {
  for (const auto& head : heads_) tree_->GiveBack(std::move(head->entries));
}

bool TreeWalk::Fail(Status status) {
  status_ = std::move(status);
  ended_ = true;
  return false;
}

std::optional<std::string_view> TreeWalk::decided() const {
  if (!any_decided_) return std::nullopt;
  return std::string_view(decided_).substr(0, decided_bytes_);
}

// Short keys without a call.
void TreeWalk::Decide(const Head& head) {
  const std::string_view key = head.key();
  if (decided_.size() < key.size()) decided_.resize(2 * key.size() + 64);
  constexpr size_t kHalf = 16;
  if (key.size() >= kHalf && key.size() <= 2 * kHalf) {
    char begin[kHalf], end[kHalf];
    std::memcpy(begin, key.data(), kHalf);
    std::memcpy(end, key.data() + key.size() - kHalf, kHalf);
    std::memcpy(decided_.data(), begin, kHalf);
    std::memcpy(decided_.data() + key.size() - kHalf, end, kHalf);
  } else {
    std::memcpy(decided_.data(), key.data(), key.size());
  }
  decided_bytes_ = key.size();
  decided_prefix_ = head.prefix;
  any_decided_ = true;
}

bool TreeWalk::IsDecided(const Head& head) const {
  return head.prefix == decided_prefix_ && any_decided_ && head.key() == *decided();
}

bool TreeWalk::IsBefore(const Head& a, const Head& b) {
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  const int order = a.key().compare(b.key());
  return order != 0 ? order < 0 : a.SequenceOfEntry() > b.SequenceOfEntry();
}

// False at the end of its run, and after an error.
bool TreeWalk::OpenNextFile(Head* head) {
  tree_->GiveBack(std::move(head->entries));
  if (head->next_file == head->run->size()) return false;
  const LiveTable& file = (*head->run)[head->next_file++];
  if (interval_.end && file.smallest >= *interval_.end) return false;
  const Status status = tree_->Open(file, &head->entries);
  if (!status.ok()) return Fail(status);
  head->sequence.reset();
  if (head->entries->table().properties().is_external) head->sequence = file.smallest_sequence;
  head->entries->Seek(file.smallest < interval_.begin ? interval_.begin : std::string_view());
  return true;
}

bool TreeWalk::Step(Head* head) {
  while (head->entries == nullptr || !head->entries->Next()) {
    if (head->entries != nullptr && !head->entries->status().ok()) {
      return Fail(head->entries->status());
    }
    if (!OpenNextFile(head)) return false;
  }
  head->prefix = PrefixOf(head->key());
  return true;
}

// The first one to where it belongs.
void TreeWalk::MoveDown() {
  for (size_t i = 1; i < heads_.size() && IsBefore(*heads_[i], *heads_[i - 1]); i++) {
    std::swap(heads_[i], heads_[i - 1]);
  }
}

// To the next entry of the whole tree.
bool TreeWalk::Advance() {
  if (started_) {
    if (Step(heads_.front().get())) {
      MoveDown();
    } else if (!status_.ok()) {
      return false;
    } else {
      heads_.erase(heads_.begin());
    }
    return !heads_.empty();
  }
  started_ = true;
  for (const WalkedTree::Run& run : tree_->runs) {
    auto head = std::make_unique<Head>();
    head->run = &run;
    head->next_file = static_cast<size_t>(
        std::partition_point(run.begin(), run.end(),
                             [&](const auto& file) { return file.largest < interval_.begin; }) -
        run.begin());
    if (Step(head.get())) heads_.push_back(std::move(head));
    if (!status_.ok()) return false;
  }
  std::sort(heads_.begin(), heads_.end(),
            [](const auto& a, const auto& b) { return IsBefore(*a, *b); });
  return !heads_.empty();
}

bool TreeWalk::Next(Row* row) {
  while (!ended_) {
    if (!Advance()) break;
    const Head& head = *heads_.front();
    const TableEntry& entry = head.entries->entry();
    if (head.prefix >= end_prefix_ && interval_.end && entry.user_key >= *interval_.end) break;
    if (head.SequenceOfEntry() > tree_->sequence) continue;
    if (IsDecided(head)) continue;
    switch (entry.type) {
      case EntryType::kValue:
        Decide(head);
        *row = {entry.user_key, entry.value};
        return true;
      case EntryType::kDeletion:
      case EntryType::kSingleDeletion:
        Decide(head);
        continue;
      default:
        return Fail(Status::NotSupported(head.entries->table().path() + ": an entry of type " +
                                         std::to_string(static_cast<int>(entry.type))));
    }
  }
  ended_ = true;
  return false;
}

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
  constexpr size_t kMostRuns = 32;  // each takes a buffer of what is read ahead
  const size_t runs = SortedRuns(tree.files).size();
  return runs <= kMostRuns ? "" : "there are " + std::to_string(runs) + " sorted runs";
}

std::string WhyNotWalked(const LiveTable& file, const TableEntries& entries) {
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
  walked.runs = SortedRuns(tree.files);
  return walked;
}

}  // namespace rocksieve::join
