// SPDX-License-Identifier: Apache-2.0
// Takes whatever a batch of writes may have, those of transactions too, and does nothing with it.
#pragma once

#include <cstdint>

#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

namespace rocksieve {

class BatchHandler : public rocksdb::WriteBatch::Handler {
 protected:
  using Slice = rocksdb::Slice;
  using Status = rocksdb::Status;

 public:
  Status PutCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status PutEntityCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status PutBlobIndexCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status MergeCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  Status DeleteCF(uint32_t, const Slice&) override { return Status::OK(); }
  Status SingleDeleteCF(uint32_t, const Slice&) override { return Status::OK(); }
  Status DeleteRangeCF(uint32_t, const Slice&, const Slice&) override { return Status::OK(); }
  void LogData(const Slice&) override {}
  Status MarkBeginPrepare(bool) override { return Status::OK(); }
  Status MarkEndPrepare(const Slice&) override { return Status::OK(); }
  Status MarkNoop(bool) override { return Status::OK(); }
  Status MarkRollback(const Slice&) override { return Status::OK(); }
  Status MarkCommit(const Slice&) override { return Status::OK(); }
  Status MarkCommitWithTimestamp(const Slice&, const Slice&) override { return Status::OK(); }
};

}  // namespace rocksieve
