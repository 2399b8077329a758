// SPDX-License-Identifier: Apache-2.0
#include "plugin/unshared/changed_keys.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <rocksdb/comparator.h>

namespace rocksieve {
namespace {

using rocksdb::Status;

constexpr size_t kMostReadaheadBytes = 1 << 20, kLeastReadaheadBytes = 16 << 10;
constexpr size_t kReadaheadBytesOfAll = 64 << 20;
constexpr size_t kMostLogKeyBytes = size_t{256} << 20;  // of each state

bool IsDeletion(const TableEntry& entry) {
  return entry.type == EntryType::kDeletion || entry.type == EntryType::kSingleDeletion;
}

bool IsPlain(const TableEntry& entry) {
  return entry.type == EntryType::kValue || IsDeletion(entry);
}

// Says all of a row, without other entries or files.
bool IsWhole(const TableEntry& entry) {
  return IsPlain(entry) || entry.type == EntryType::kWideColumns;
}

// REQUIRES: plain.
std::optional<std::string_view> ValueOf(const TableEntry& entry) {
  if (IsDeletion(entry)) return std::nullopt;
  return entry.value;
}

}  // namespace

Status ChangedKeys::Open(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second,
                         StateFiles files, rocksdb::RateLimiter* limiter,
                         std::unique_ptr<ChangedKeys>* changed) {
  for (const ReadOnlySnapshot* state : {&first, &second}) {
    if (state->column_family()->GetComparator() != rocksdb::BytewiseComparator()) {
      return Status::NotSupported("its keys are not in bytewise order");
    }
  }
  std::unique_ptr<ChangedKeys> keys(new ChangedKeys(
      SharedFiles(std::move(files.shared), second.db()->GetEnv(), &second.description()),
      files.are_written));
  Status status = keys->first_log_.Add(first, kMostLogKeyBytes);
  if (status.ok()) status = keys->second_log_.Add(second, kMostLogKeyBytes);
  if (status.ok()) {
    status = keys->OpenFiles(files.first_only, first.db()->GetEnv(), /*is_first=*/true, limiter);
  }
  if (status.ok()) {
    status = keys->OpenFiles(files.second_only, second.db()->GetEnv(), /*is_first=*/false, limiter);
  }
  if (!status.ok()) return Status::NotSupported(status.ToString());
  std::vector<DeletedRange> ranges = std::move(keys->first_log_.deleted_ranges);
  const std::vector<DeletedRange>& of_second_log = keys->second_log_.deleted_ranges;
  ranges.insert(ranges.end(), of_second_log.begin(), of_second_log.end());
  for (const auto& reader : keys->readers_) {
    const std::vector<DeletedRange>& of_file = reader->entries->deleted_ranges();
    ranges.insert(ranges.end(), of_file.begin(), of_file.end());
    keys->at_key_.push_back(reader.get());
  }
  keys->JoinRanges(std::move(ranges));
  *changed = std::move(keys);
  return status;
}

Status ChangedKeys::OpenFiles(const std::vector<LiveTable>& files, rocksdb::Env* env, bool is_first,
                              rocksdb::RateLimiter* limiter) {
  const size_t readahead_bytes = std::clamp(kReadaheadBytesOfAll / (files.size() + 1),
                                            kLeastReadaheadBytes, kMostReadaheadBytes);
  for (const LiveTable& file : files) {
    auto reader = std::make_unique<Reader>();
    reader->is_first = is_first;
    Status status = TableEntries::Open(env, file.path, readahead_bytes, limiter, &reader->entries);
    if (status.ok()) status = reader->entries->CheckFirstBlock();
    if (!status.ok()) return status;
    const TableProperties& properties = reader->entries->table().properties();
    entries_ += properties.entries;
    if (properties.is_external) {
      if (file.smallest_sequence != file.largest_sequence) {
        return Status::NotSupported("an ingested file with several sequence numbers");
      }
      reader->sequence = file.smallest_sequence;
    }
    readers_.push_back(std::move(reader));
  }
  return Status::OK();
}

void ChangedKeys::JoinRanges(std::vector<DeletedRange> ranges) {
  std::sort(ranges.begin(), ranges.end());
  for (DeletedRange& range : ranges) {
    if (range.first >= range.second) continue;
    if (!ranges_.empty() && range.first <= ranges_.back().second) {
      ranges_.back().second = std::max(ranges_.back().second, range.second);
    } else {
      ranges_.push_back(std::move(range));
    }
  }
}

bool ChangedKeys::IsLater(const Reader* a, const Reader* b) {
  return a->entries->entry().user_key > b->entries->entry().user_key;
}

// Those at `key_` go on to their next key, and into the heap. False after an error.
bool ChangedKeys::AdvanceReaders() {
  for (Reader* const reader : at_key_) {
    TableEntries* const entries = reader->entries.get();
    bool any = entries->Next();
    for (; any && started_ && entries->entry().user_key == key_; any = entries->Next()) {
      entries_read_++;
    }
    status_ = entries->status();
    if (!status_.ok()) return false;
    if (!any) continue;
    entries_read_++;
    heap_.push_back(reader);
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
  }
  at_key_.clear();
  started_ = true;
  return true;
}

// To the next key of the files and the logs, with the readers that have it. False if there is none.
bool ChangedKeys::FindNextKey() {
  std::optional<std::string> next;
  if (!heap_.empty()) next = heap_.front()->entries->entry().user_key;
  for (const LogKeys* const log : {&first_log_, &second_log_}) {
    if (!log->keys.empty() && (!next || *log->keys.begin() < *next)) next = *log->keys.begin();
  }
  if (!next) return false;
  key_ = *std::move(next);
  in_first_log_ = first_log_.keys.erase(key_) > 0;
  in_second_log_ = second_log_.keys.erase(key_) > 0;
  while (!heap_.empty() && heap_.front()->entries->entry().user_key == key_) {
    std::pop_heap(heap_.begin(), heap_.end(), IsLater);
    at_key_.push_back(heap_.back());
    heap_.pop_back();
  }
  return true;
}

bool ChangedKeys::Next(ChangedKey* changed) {
  while (status_.ok()) {
    // A key that came after a range was found already.
    if (!found_) {
      if (!AdvanceReaders()) return false;
      found_ = FindNextKey();
    }
    const bool range_is_next =
        next_range_ < ranges_.size() && (!found_ || ranges_[next_range_].first <= key_);
    if (range_is_next) {
      const DeletedRange& range = ranges_[next_range_++];
      *changed = {range.first, range.second, {}, {}};
      return true;
    }
    if (!found_) return false;
    found_ = false;
    const bool was_in_range = next_range_ > 0 && key_ < ranges_[next_range_ - 1].second;
    if (!was_in_range && Judge(changed)) return true;
  }
  return false;
}

ChangedKeys::Newest ChangedKeys::NewestOf(bool is_first) const {
  Newest newest;
  for (const Reader* const reader : at_key_) {
    if (reader->is_first != is_first) continue;
    if (newest && newest->sequence >= reader->SequenceOfEntry()) continue;
    newest = reader->entries->entry();
    newest->sequence = reader->SequenceOfEntry();
  }
  return newest;
}

// False if the rows are equal.
bool ChangedKeys::Judge(ChangedKey* changed) {
  *changed = {key_, {}, {}, {}};
  changed->is_in_second_log = in_second_log_ && !in_first_log_;
  if (in_first_log_ || in_second_log_) return true;
  const Newest first = NewestOf(true), second = NewestOf(false);
  if (first && second && first->sequence != 0 && IsWhole(*first) &&
      first->sequence == second->sequence && first->type == second->type &&
      first->value == second->value) {
    equal_rows_ += !IsDeletion(*first);
    return false;
  }
  if (first && second && IsPlain(*first) && IsPlain(*second) &&
      ValueOf(*first) == ValueOf(*second)) {
    const auto [older, newer] = std::minmax(first->sequence, second->sequence);
    if (!shared_.MayContain(key_, older, newer)) {
      equal_rows_ += !IsDeletion(*first);
      return false;
    }
  }
  if (first || first_is_known_) changed->first = ShownBy(first);
  changed->second = ShownBy(second);
  return !changed->first.is_known || !changed->second.is_known ||
         changed->first.plain_value != changed->second.plain_value;
}

// Where there is no entry, what shared files have is shown.
ChangedKey::Shown ChangedKeys::ShownBy(const Newest& newest) {
  if (newest && !IsPlain(*newest)) return {};
  // Of two that were written with one that was not deleted in between, nobody knows what is left.
  if (are_written_ && newest && newest->type == EntryType::kSingleDeletion) return {};
  const uint64_t sequence = newest ? newest->sequence : 0;
  if (shared_.MayContain(key_, sequence, std::numeric_limits<uint64_t>::max())) return {};
  return {true, newest ? ValueOf(*newest) : std::nullopt};
}

}  // namespace rocksieve
