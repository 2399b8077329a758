// SPDX-License-Identifier: Apache-2.0
#include "plugin/join_api/result_sinks.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/text/text_rows.h"
#include "plugin/join/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {

absl::Status ProvenRowsSink::Commit() {
  RETURN_IF_ERROR(check_ ? check_() : absl::OkStatus());
  RETURN_IF_ERROR(pending_.Visit([this](const Row& row, Side from) {
    any_given_ = true;
    return take_(row, from);
  }));
  return pending_.Clear();
}

absl::Status ProvenRowsSink::Restart() {
  if (restarted_) restarted_();
  if (any_given_) {
    return absl::FailedPreconditionError("they were given to the program already: join again");
  }
  return pending_.Clear();
}

absl::Status CallbackStatus::Keep(const rocksdb::Status& status) {
  status_ = status;
  return status.ok() ? absl::OkStatus() : absl::CancelledError("a callback ended the join");
}

rocksdb::Status CallbackStatus::Or(const absl::Status& status) const {
  return status_.ok() ? ToRocksDb(status) : status_;
}

absl::StatusOr<std::unique_ptr<ResultFileSink>> ResultFileSink::Open(const ResultFile& file,
                                                                     Operation operation,
                                                                     bool sort) {
  std::unique_ptr<ResultFileSink> sink(new ResultFileSink(file, operation, sort));
  RETURN_IF_ERROR(sink->Examine());
  RETURN_IF_ERROR(sink->Begin());
  return sink;
}

absl::Status ResultFileSink::Examine() {
  OutputPlace place;
  std::string error;
  if (!FindOutputPlace(file_.path, &place, &error)) return absl::InvalidArgumentError(error);
  file_.path = place.path;
  is_stream_ = place.is_stream;
  if (is_stream_ && file_.format == RowFormat::kSst) {
    return absl::InvalidArgumentError(
        file_.path == "-"
            ? "an SST file cannot go to the standard output: name a file"
            : absl::StrCat("an SST file cannot go to ", file_.path, ", which is no regular file"));
  }
  return absl::OkStatus();
}

absl::Status ResultFileSink::Begin() {
  rows_.reset();
  sst_ = nullptr;
  if (file_.format == RowFormat::kSst) {
    SstSinkOptions options;
    options.rocksdb = file_.rocksdb_options;
    options.sort = sort_;
    options.sorting.memory_bytes = file_.sort_memory_bytes;
    ASSIGN_OR_RETURN(std::unique_ptr<SstSink> sink, SstSink::Open(file_.path, options));
    sst_ = sink.get();
    rows_ = std::move(sink);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::unique_ptr<RevocableFile> text, OpenText());
  const bool json = file_.format == RowFormat::kJson;
  rows_ = std::make_unique<TextSink>(
      std::move(text), json ? TextSink::Format::kJson : TextSink::Format::kTsv, shows_sides_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RevocableFile>> ResultFileSink::OpenText() {
  if (is_stream_) return RevocableFile::Open(file_.path);
  std::string error;
  pending_ = PendingFile::Create(file_.path, &error);
  if (pending_ == nullptr) return absl::FailedPreconditionError(error);
  return RevocableFile::OfDescriptor(pending_->descriptor(), file_.path);
}

absl::Status ResultFileSink::Add(const Row& row, Side from) {
  added_++;
  return rows_->Add(row, from);
}

absl::Status ResultFileSink::Commit() {
  committed_ = added_;
  return rows_->Commit();
}

absl::Status ResultFileSink::Discard() {
  added_ = committed_;
  return rows_->Discard();
}

absl::Status ResultFileSink::Restart() {
  if (is_stream_ && committed_ > 0) {
    return absl::FailedPreconditionError(
        "they went to the standard output, or a pipe, already: join again, or into a file");
  }
  RETURN_IF_ERROR(Discard());
  added_ = committed_ = 0;
  return Begin();
}

absl::Status ResultFileSink::Finish() {
  RETURN_IF_ERROR(Discard());
  if (sst_ != nullptr) return sst_->Finish();
  rows_.reset();  // closes the file
  return is_stream_ ? absl::OkStatus() : Publish(pending_.get());
}

}  // namespace rocksieve::join
