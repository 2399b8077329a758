// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/sst_file.h"

#include <cstdio>
#include <utility>

#include <absl/strings/str_cat.h>
#include <rocksdb/comparator.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/version.h>

#include "plugin/join/status.h"
#include "plugin/tables/table_entries.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

SstSource::SstSource(std::string path, const rocksdb::Options& options, RowValues values)
    : path_(std::move(path)), values_(values), options_(options), reader_(options_) {}

absl::StatusOr<std::unique_ptr<SstSource>> SstSource::Open(const std::string& path,
                                                           const rocksdb::Options& options,
                                                           RowValues values) {
  std::unique_ptr<SstSource> source(new SstSource(path, options, values));
  RETURN_IF_ERROR(FromRocksDb(source->reader_.Open(path), "cannot read " + path));
  RETURN_IF_ERROR(source->Check());
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
  return CheckForBlobs();
}

// No property counts them, and no iterator over rows tells their places from values.
absl::Status SstSource::CheckForBlobs() {
  constexpr size_t kReadaheadBytes = 1 << 20;
  bool has_blobs = false;
  std::unique_ptr<TableEntries> entries;
  rocksdb::Status status =
      TableEntries::Open(options_.env, path_, kReadaheadBytes, /*limiter=*/nullptr, &entries);
  if (status.ok()) {
    while (!has_blobs && entries->Next()) {
      has_blobs = entries->entry().type == EntryType::kBlobIndex;
    }
    status = entries->status();
  }
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 902
  if (status.IsNotSupported()) {  // of a format that only RocksDB knows
    const std::unique_ptr<rocksdb::Iterator> raw = reader_.NewTableIterator();
    for (raw->SeekToFirst(); !has_blobs && raw->Valid(); raw->Next()) {
      const rocksdb::Slice key = raw->key();
      has_blobs =
          key.size() >= kSequenceAndTypeBytes &&
          static_cast<EntryType>(key[key.size() - kSequenceAndTypeBytes]) == EntryType::kBlobIndex;
    }
    status = raw->status();
  }
#endif
  if (has_blobs) {
    return absl::UnimplementedError(
        absl::StrCat(path_, " has values in blob files. Join the database that it is of"));
  }
  return status.IsNotSupported() ? absl::OkStatus() : FromRocksDb(status, "cannot read " + path_);
}

std::unique_ptr<Cursor> SstSource::Scan(const KeyInterval& interval) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.total_order_seek = true;
  read.auto_prefix_mode = false;
  std::unique_ptr<rocksdb::Iterator> iterator(reader_.NewIterator(read));
  iterator->Seek(interval.begin);
  return std::make_unique<IteratorCursor>(std::move(iterator), interval.end, "cannot scan " + path_,
                                          values_);
}

absl::Status Publish(PendingFile* file) {
  std::string error;
  const int number = file->Publish(&error);
  return number == 0 ? absl::OkStatus() : absl::Status(absl::ErrnoToStatusCode(number), error);
}

SstSink::SstSink(std::unique_ptr<PendingFile> file, const SstSinkOptions& options)
    : path_(file->path()),
      options_(options),
      pending_(options_.sorting.directory),
      sorter_(options_.sorting),
      file_(std::move(file)),
      writer_(rocksdb::EnvOptions(options_.rocksdb), options_.rocksdb) {}

absl::StatusOr<std::unique_ptr<SstSink>> SstSink::Open(const std::string& path,
                                                       const SstSinkOptions& options) {
  std::string error;
  std::unique_ptr<PendingFile> file = PendingFile::Create(path, &error);
  if (file == nullptr) return absl::FailedPreconditionError(error);
  std::unique_ptr<SstSink> sink(new SstSink(std::move(file), options));
  RETURN_IF_ERROR(
      FromRocksDb(sink->writer_.Open(sink->file_->open_path()), "cannot write " + path));
  return sink;
}

SstSink::~SstSink() = default;

absl::Status SstSink::Add(const Row& row, Side from) {
  if (from == Side::kClient) {
    return absl::FailedPreconditionError(
        absl::StrCat("an SST file such as ", path_,
                     " takes rows of the other side only, which this side can ingest; the "
                     "operation for that is difference or intersection"));
  }
  return pending_.Add(row, from);
}

absl::Status SstSink::Commit() {
  const absl::Status status = pending_.Visit(
      [this](const Row& row, Side) { return options_.sort ? sorter_.Add(row) : Write(row); });
  return status.ok() ? pending_.Clear() : status;
}

absl::Status SstSink::Write(const Row& row) {
  if (rows_ > 0 && row.key == last_key_) return absl::OkStatus();
  last_key_ = row.key;
  rows_++;
  return FromRocksDb(writer_.Put(rocksdb::Slice(row.key.data(), row.key.size()),
                                 rocksdb::Slice(row.value.data(), row.value.size())),
                     "cannot write " + path_);
}

absl::Status SstSink::Finish() {
  if (options_.sort) {
    ASSIGN_OR_RETURN(std::unique_ptr<Source> sorted, sorter_.Finish());
    const std::unique_ptr<Cursor> cursor = sorted->Scan({});
    Row row;
    while (cursor->Next(&row)) {
      RETURN_IF_ERROR(Write(row));
    }
    if (!cursor->status().ok()) return cursor->status();
  }
  if (rows_ == 0) {
    std::remove(path_.c_str());  // of an earlier join
    return absl::OkStatus();
  }
  const absl::Status status = FromRocksDb(writer_.Finish(), "cannot write " + path_);
  return status.ok() ? Publish(file_.get()) : status;
}

}  // namespace rocksieve::join
