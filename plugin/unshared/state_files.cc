// SPDX-License-Identifier: Apache-2.0
#include "plugin/unshared/state_files.h"

#include <sys/stat.h>

#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include <rocksdb/transaction_log.h>

#include "plugin/database/batch_handler.h"

namespace rocksieve {
namespace {

// Device, inode, sequence numbers.
using FileIdentity = std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>;

bool Identify(const LiveTable& file, FileIdentity* identity) {
  struct stat found = {};
  if (stat(file.path.c_str(), &found) != 0) return false;
  *identity = {found.st_dev, found.st_ino, file.smallest_sequence, file.largest_sequence};
  return true;
}

uint64_t BytesOf(const std::vector<LiveTable>& files) {
  uint64_t bytes = 0;
  for (const LiveTable& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace

StateFiles CompareFiles(const ReadOnlySnapshot& first, const ReadOnlySnapshot& second) {
  StateFiles files;
  std::map<FileIdentity, LiveTable> of_first;
  FileIdentity identity;
  for (LiveTable& file : LiveTablesOf(first.db(), first.column_family())) {
    const bool identified = Identify(file, &identity);
    if (!identified || !of_first.emplace(identity, file).second) files.first_only.push_back(file);
  }
  for (LiveTable& file : LiveTablesOf(second.db(), second.column_family())) {
    const bool identified = Identify(file, &identity);
    const auto found = identified ? of_first.find(identity) : of_first.end();
    if (found == of_first.end()) {
      files.second_only.push_back(file);
    } else {
      files.shared.push_back(file);
      of_first.erase(found);
    }
  }
  for (auto& [unused, file] : of_first) files.first_only.push_back(std::move(file));
  files.shared_bytes = BytesOf(files.shared);
  files.first_only_bytes = BytesOf(files.first_only);
  files.second_only_bytes = BytesOf(files.second_only);
  return files;
}

namespace {

using rocksdb::Slice;
using rocksdb::Status;

// Takes whatever writes a column family, those of transactions that are not committed too.
class KeysOfWrites final : public BatchHandler {
 public:
  KeysOfWrites(uint32_t family, size_t most_bytes, LogKeys* keys)
      : family_(family), bytes_left_(most_bytes), keys_(keys) {}

  uint64_t entries() const { return entries_; }

  Status PutCF(uint32_t family, const Slice& key, const Slice&) override {
    return Take(family, key);
  }
  Status PutEntityCF(uint32_t family, const Slice& key, const Slice&) override {
    return Take(family, key);
  }
  Status PutBlobIndexCF(uint32_t family, const Slice& key, const Slice&) override {
    return Take(family, key);
  }
  Status MergeCF(uint32_t family, const Slice& key, const Slice&) override {
    return Take(family, key);
  }
  Status DeleteCF(uint32_t family, const Slice& key) override { return Take(family, key); }
  Status SingleDeleteCF(uint32_t family, const Slice& key) override { return Take(family, key); }
  Status DeleteRangeCF(uint32_t family, const Slice& begin, const Slice& end) override {
    if (family == family_) {
      entries_++;
      keys_->deleted_ranges.emplace_back(begin.ToString(), end.ToString());
    }
    return Spend(family, begin.size() + end.size());
  }

 private:
  Status Take(uint32_t family, const Slice& key) {
    if (family != family_) return Status::OK();
    entries_++;
    return keys_->keys.insert(key.ToString()).second ? Spend(family, key.size()) : Status::OK();
  }

  Status Spend(uint32_t family, size_t bytes) {
    constexpr size_t kOfEach = 96;  // about, in a set
    if (family != family_) return Status::OK();
    if (bytes_left_ < bytes + kOfEach) return Status::NotSupported("the logs have too many keys");
    bytes_left_ -= bytes + kOfEach;
    return Status::OK();
  }

  const uint32_t family_;
  size_t bytes_left_;
  LogKeys* const keys_;
  uint64_t entries_ = 0;
};

}  // namespace

Status LogKeys::Add(const ReadOnlySnapshot& state, size_t most_bytes) {
  uint64_t entries = 0;
  const bool known = state.db()->GetIntProperty(
      state.column_family(), rocksdb::DB::Properties::kNumEntriesActiveMemTable, &entries);
  uint64_t older = 0;
  if (!known ||
      !state.db()->GetIntProperty(state.column_family(),
                                  rocksdb::DB::Properties::kNumEntriesImmMemTables, &older)) {
    return Status::NotSupported("it does not say how many entries its memtables have");
  }
  entries += older;
  if (entries == 0) return Status::OK();
  if (state.MayHavePreparedTransactions()) {
    return Status::NotSupported("its logs may have prepared transactions");
  }
  std::unique_ptr<rocksdb::TransactionLogIterator> log;
  Status status = state.db()->GetUpdatesSince(0, &log);
  KeysOfWrites writes(state.column_family()->GetID(), most_bytes, this);
  for (; status.ok() && log->Valid(); log->Next()) {
    status = log->GetBatch().writeBatchPtr->Iterate(&writes);
  }
  if (status.ok()) status = log->status();
  if (!status.ok()) return Status::NotSupported("its logs cannot be read: " + status.ToString());
  if (writes.entries() < entries) return Status::NotSupported("its logs lack what it has");
  return status;
}

SharedFiles::SharedFiles(std::vector<LiveTable> files, rocksdb::Env* env,
                         const ColumnFamily* family)
    : env_(env), family_(family) {
  for (std::vector<LiveTable>& run : SortedRuns(std::move(files))) {
    runs_.push_back({std::move(run), 0});
  }
}

bool SharedFiles::MayContain(std::string_view key, uint64_t smallest_sequence,
                             uint64_t largest_sequence) {
  for (Run& run : runs_) {
    for (; run.first < run.files.size() && run.files[run.first].largest < key; run.first++) {
      filters_.erase(run.files[run.first].path);
    }
    for (size_t i = run.first; i < run.files.size() && run.files[i].smallest <= key; i++) {
      const LiveTable& file = run.files[i];
      if (file.largest >= key && file.smallest_sequence <= largest_sequence &&
          file.largest_sequence >= smallest_sequence && MayContain(file, key)) {
        return true;
      }
    }
  }
  return false;
}

bool SharedFiles::MayContain(const LiveTable& file, std::string_view key) {
  const auto [found, is_new] = filters_.try_emplace(file.path);
  Filter& known = found->second;
  std::unique_ptr<TableFile> table;
  if (is_new && TableFile::Open(env_, file.path, &table).ok()) {
    known.deletes_ranges = table->properties().range_deletions > 0;
    if (!known.deletes_ranges) known.filter = std::make_unique<FileFilter>(*table);
  }
  return known.deletes_ranges || known.filter == nullptr || known.filter->MayContain(*family_, key);
}

}  // namespace rocksieve
