#include "join/result_output.h"

#include <filesystem>
#include <utility>

#include <absl/strings/str_cat.h>
#include <sys/stat.h>

#include "join/rows/unpacking_sink.h"
#include "join/sst_sink.h"
#include "join/text/text_sinks.h"

namespace rocksieve::tools {
ResultOutput::ResultOutput(const OutputOptions& options)
    : options_(options), is_stream_(options.path == "-") {}

absl::StatusOr<std::unique_ptr<ResultOutput>> ResultOutput::Open(const OutputOptions& options) {
  if (options.format == RowFormat::kSst && options.path == "-") {
    return absl::InvalidArgumentError(
        "an SST file cannot go to the standard output: "
        "add --output=FILE");
  }
  std::unique_ptr<ResultOutput> output(new ResultOutput(options));
  absl::Status status = output->Examine();
  if (status.ok()) status = output->Begin();
  if (!status.ok()) return status;
  return output;
}

absl::Status ResultOutput::Examine() {
  if (is_stream_) return absl::OkStatus();
  struct stat there {};
  if (stat(options_.path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(options_.path, " is a directory: name a file in it"));
    }
    is_stream_ = !S_ISREG(there.st_mode);
    if (is_stream_ && options_.format == RowFormat::kSst) {
      return absl::InvalidArgumentError(
          absl::StrCat("an SST file cannot go to ", options_.path, ", which is no regular file"));
    }
    // What a link leads to is replaced, not the link.
    if (!is_stream_) options_.path = std::filesystem::canonical(options_.path).string();
  }
  return absl::OkStatus();
}

absl::Status ResultOutput::Begin() {
  unpacked_.reset();
  formatted_.reset();
  sst_ = nullptr;
  if (options_.format == RowFormat::kSst) {
    join::SstSinkOptions sst;
    sst.sort = options_.local_is_packed || options_.remote_is_packed;
    sst.sorting = options_.sorting;
    absl::StatusOr<std::unique_ptr<join::SstSink>> sink = join::SstSink::Open(options_.path, sst);
    if (!sink.ok()) return sink.status();
    sst_ = sink->get();
    formatted_ = *std::move(sink);
  } else {
    absl::StatusOr<std::unique_ptr<join::RevocableFile>> file = OpenText();
    if (!file.ok()) return file.status();
    const join::ShowSide sides = options_.show_side ? join::ShowSide::kYes : join::ShowSide::kNo;
    if (options_.format == RowFormat::kJson) {
      formatted_ = std::make_unique<join::JsonLinesSink>(*std::move(file), sides);
    } else {
      formatted_ = std::make_unique<join::TsvSink>(*std::move(file), sides);
    }
  }
  unpacked_ = std::make_unique<join::UnpackingSink>(formatted_.get(), options_.local_is_packed,
                                                    options_.remote_is_packed);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<join::RevocableFile>> ResultOutput::OpenText() {
  if (is_stream_) return join::RevocableFile::Open(options_.path);
  absl::StatusOr<std::unique_ptr<join::PendingFile>> pending =
      join::PendingFile::Create(options_.path);
  if (!pending.ok()) return pending.status();
  pending_ = *std::move(pending);
  return join::RevocableFile::OfDescriptor(pending_->descriptor(), options_.path);
}

ResultOutput::~ResultOutput() = default;

absl::Status ResultOutput::Add(const join::Row& row, join::Side from) {
  added_++;
  return unpacked_->Add(row, from);
}

absl::Status ResultOutput::Commit() {
  committed_ = added_;
  return unpacked_->Commit();
}

absl::Status ResultOutput::Discard() {
  added_ = committed_;
  return unpacked_->Discard();
}

absl::Status ResultOutput::Restart() {
  if (is_stream_ && committed_ > 0) {
    return absl::FailedPreconditionError(
        "they went to the standard output, or a pipe, already: join again, or with --output=FILE");
  }
  const absl::Status discarded = Discard();
  if (!discarded.ok()) return discarded;
  added_ = committed_ = 0;
  return Begin();
}

absl::Status ResultOutput::Finish() {
  const absl::Status discarded = Discard();
  if (!discarded.ok()) return discarded;
  if (sst_ != nullptr) return sst_->Finish();
  unpacked_.reset();
  formatted_.reset();  // closes the file
  return is_stream_ ? absl::OkStatus() : pending_->Publish();
}

}  // namespace rocksieve::tools
