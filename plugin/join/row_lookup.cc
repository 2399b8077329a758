// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/row_lookup.h"

#include "plugin/join/comparable_value.h"
#include "plugin/join/status.h"

namespace rocksieve::join {
namespace {

rocksdb::ReadOptions ForLookups() {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.total_order_seek = true;
  read.verify_checksums = true;
  read.rate_limiter_priority = rocksdb::Env::IO_LOW;
  return read;
}

}  // namespace

RowLookup::RowLookup(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family)
    : iterator_(db->NewIterator(ForLookups(), family)) {}

absl::Status RowLookup::Find(std::string_view key, std::optional<std::string_view>* value) {
  constexpr int kMostSteps = 8;  // cost about what a seek does
  value->reset();
  for (int step = 0; step < kMostSteps && iterator_->Valid() && ToView(iterator_->key()) < key;
       step++) {
    iterator_->Next();
  }
  if (!iterator_->Valid() || ToView(iterator_->key()) < key) iterator_->Seek(ToSlice(key));
  if (iterator_->Valid() && ToView(iterator_->key()) == key) {
    *value = ComparableValue(*iterator_, &comparable_);
  }
  return FromRocksDb(iterator_->status(), "cannot look up a row");
}

}  // namespace rocksieve::join
