// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/sst_source.h"

#include <utility>

#include <absl/strings/str_cat.h>
#include <rocksdb/comparator.h>
#include <rocksdb/table_properties.h>

#include "plugin/join/status.h"

namespace rocksieve::join {

SstSource::SstSource(std::string path, const rocksdb::Options& options, RowValues values)
    : path_(std::move(path)), values_(values), options_(options), reader_(options_) {}

absl::StatusOr<std::unique_ptr<SstSource>> SstSource::Open(const std::string& path,
                                                           const rocksdb::Options& options,
                                                           RowValues values) {
  std::unique_ptr<SstSource> source(new SstSource(path, options, values));
  absl::Status status = FromRocksDb(source->reader_.Open(path), "cannot read " + path);
  if (status.ok()) status = source->Check();
  if (!status.ok()) return status;
  return source;
}

absl::Status SstSource::Check() {
  const auto properties = reader_.GetTableProperties();
  entries_ = properties->num_entries;
  const std::string bytewise = rocksdb::BytewiseComparator()->Name();
  if (properties->comparator_name != bytewise || options_.comparator->Name() != bytewise) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_, " is ordered by ", properties->comparator_name, ", and a join needs ", bytewise));
  }
  if (properties->num_range_deletions > 0) {
    return absl::UnimplementedError(absl::StrCat(
        path_,
        " has range deletions, which hide keys of it. Join the database that it is of, or "
        "ingest it into an empty one and join that"));
  }
  if (properties->num_merge_operands > 0 && options_.merge_operator == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " has merges, and no merge operator is given (it was written with ",
                     properties->merge_operator_name, ")"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Cursor> SstSource::Scan(const KeyInterval& interval) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.total_order_seek = true;
  read.auto_prefix_mode = false;
  std::unique_ptr<rocksdb::Iterator> iterator(reader_.NewIterator(read));
  iterator->Seek(ToSlice(interval.begin));
  return std::make_unique<IteratorCursor>(std::move(iterator), interval.end, "cannot scan " + path_,
                                          values_);
}

}  // namespace rocksieve::join
