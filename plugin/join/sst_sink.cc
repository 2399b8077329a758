// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/sst_sink.h"

#include <cstdio>
#include <utility>

#include <absl/strings/str_cat.h>

#include "plugin/join/status.h"

namespace rocksieve::join {

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
  const absl::Status status =
      FromRocksDb(sink->writer_.Open(sink->file_->open_path()), "cannot write " + path);
  if (!status.ok()) return status;
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
  rows_++;
  return FromRocksDb(writer_.Put(rocksdb::Slice(row.key.data(), row.key.size()),
                                 rocksdb::Slice(row.value.data(), row.value.size())),
                     "cannot write " + path_);
}

absl::Status SstSink::Finish() {
  if (options_.sort) {
    absl::StatusOr<std::unique_ptr<Source>> sorted = sorter_.Finish();
    if (!sorted.ok()) return sorted.status();
    const std::unique_ptr<Cursor> cursor = (*sorted)->Scan({});
    Row row;
    while (cursor->Next(&row)) {
      const absl::Status status = Write(row);
      if (!status.ok()) return status;
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
