// SPDX-License-Identifier: Apache-2.0
#include "bench/auto/client.h"

#include <stdexcept>

#include <rocksdb/perf_context.h>

namespace rocksieve::bench {
namespace {

uint64_t DataReads() {
  const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  return perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
}

void Check(const rocksdb::Status& status, bool is_present) {
  if (is_present ? status.ok() : status.IsNotFound()) return;
  throw std::runtime_error(is_present ? "a key is lost" : "an absent key was found");
}

}  // namespace

void Client::GetAll() {
  std::string value;
  for (const Key& key : keys_) Check(db_->Get(read_, key.bytes, &value), key.is_present);
}

void Client::MultiGetAll() {
  const std::vector<rocksdb::Slice> keys = [&] {
    std::vector<rocksdb::Slice> slices;
    for (const Key& key : keys_) slices.emplace_back(key.bytes);
    return slices;
  }();
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  db_->MultiGet(read_, db_->DefaultColumnFamily(), keys.size(), keys.data(), values.data(),
                statuses.data());
  for (size_t i = 0; i < keys.size(); i++) Check(statuses[i], keys_[i].is_present);
}

void Client::Finish() {
  if (keys_.empty()) return;
  const uint64_t before = DataReads();
  if (asking_.batch == 1 || (asking_.mixed && batches_ % 2 == 1)) {
    GetAll();
  } else {
    MultiGetAll();
  }
  batches_++;
  keys_.clear();
  data_blocks_read_ += DataReads() - before;
}

}  // namespace rocksieve::bench
