// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/comparable_value.h"

#include <rocksdb/wide_columns.h>

#include "lib/format/byte_io.h"
#include "plugin/join/status.h"

namespace rocksieve::join {
namespace {

constexpr std::string_view kMark = "\xF7rswcol\xFE";
constexpr char kPlain = 0, kColumns = 1;

}  // namespace

std::string_view ComparableValue(std::string_view plain_value, std::string* buffer) {
  if (plain_value.substr(0, kMark.size()) != kMark) return plain_value;
  buffer->assign(kMark);
  buffer->push_back(kPlain);
  buffer->append(plain_value);
  return *buffer;
}

std::string_view ComparableValue(const rocksdb::Iterator& iterator, std::string* buffer) {
  const rocksdb::WideColumns& columns = iterator.columns();
  if (columns.size() == 1 && columns.front().name().empty()) {  // kDefaultWideColumnName
    return ComparableValue(columns.front().value().ToStringView(), buffer);
  }
  buffer->assign(kMark);
  buffer->push_back(kColumns);
  ByteWriter out(buffer);
  for (const rocksdb::WideColumn& column : columns) {
    out.String(column.name().ToStringView());
    out.String(column.value().ToStringView());
  }
  return *buffer;
}

bool ReadComparableValue(std::string_view value, ReadableValue* readable) {
  *readable = {};
  if (value.substr(0, kMark.size()) != kMark) {
    readable->plain = value;
    return true;
  }
  value.remove_prefix(kMark.size());
  if (value.empty()) return false;
  const char kind = value.front();
  value.remove_prefix(1);
  if (kind == kPlain) {
    readable->plain = value;
    return true;
  }
  if (kind != kColumns) return false;
  ByteReader in(value);
  readable->has_columns = true;
  while (in.ok() && in.remaining() > 0) {
    const std::string_view name = in.String(), bytes = in.String();
    readable->columns.emplace_back(name, bytes);
  }
  return in.ok();
}

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
  for (int step = 0;
       step < kMostSteps && iterator_->Valid() && iterator_->key().ToStringView() < key; step++) {
    iterator_->Next();
  }
  // Behind the last row no seek shall pass the deleted ones again.
  if (!ended_ && (!iterator_->Valid() || iterator_->key().ToStringView() < key)) {
    iterator_->Seek(key);
    ended_ = !iterator_->Valid() && iterator_->status().ok();
  }
  if (iterator_->Valid() && iterator_->key().ToStringView() == key) {
    *value = ComparableValue(*iterator_, &comparable_);
  }
  return FromRocksDb(iterator_->status(), "cannot look up a row");
}

}  // namespace rocksieve::join
