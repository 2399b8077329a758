// SPDX-License-Identifier: Apache-2.0
#include "plugin/unshared/log_keys.h"

#include <memory>

#include <rocksdb/transaction_log.h>
#include <rocksdb/write_batch.h>

namespace rocksieve {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

// Takes whatever writes a column family, those of transactions that are not committed too.
class KeysOfWrites final : public rocksdb::WriteBatch::Handler {
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
  void LogData(const Slice&) override {}
  Status MarkBeginPrepare(bool) override { return Status::OK(); }
  Status MarkEndPrepare(const Slice&) override { return Status::OK(); }
  Status MarkNoop(bool) override { return Status::OK(); }
  Status MarkRollback(const Slice&) override { return Status::OK(); }
  Status MarkCommit(const Slice&) override { return Status::OK(); }
  Status MarkCommitWithTimestamp(const Slice&, const Slice&) override { return Status::OK(); }

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

}  // namespace rocksieve
