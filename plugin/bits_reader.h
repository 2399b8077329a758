// SPDX-License-Identifier: Apache-2.0
// The reader that RocksDB asks about keys.
#pragma once

#include <memory>
#include <utility>

#include <rocksieve/filter.h>

#include "plugin/rocksdb_abi.h"

namespace rocksieve {

class BitsReader final : public rocksdb::FilterBitsReader {
 public:
  explicit BitsReader(std::unique_ptr<Filter> filter) : filter_(std::move(filter)) {}
  bool MayMatch(const rocksdb::Slice& entry) override;
  void MayMatch(int num_keys, rocksdb::Slice** keys, bool* may_match) override;

  const Filter& filter() const { return *filter_; }

 private:
  const std::unique_ptr<Filter> filter_;
};

// For blocks that cannot be read: every key may be there.
class MayMatchReader final : public rocksdb::FilterBitsReader {
 public:
  using rocksdb::FilterBitsReader::MayMatch;
  bool MayMatch(const rocksdb::Slice&) override { return true; }
};

}  // namespace rocksieve
