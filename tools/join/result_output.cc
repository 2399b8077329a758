#include "join/result_output.h"

#include <cerrno>
#include <cstdio>
#include <utility>

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include "join/rows/unpacking_sink.h"
#include "join/sort/revocable_file.h"
#include "join/sst_sink.h"
#include "join/text/text_sinks.h"

namespace rocksieve::tools {
namespace {

// To the disk, and then to its name.
absl::Status Publish(const std::string& partial_path, const std::string& path) {
  const int descriptor = open(partial_path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (!synced) return absl::ErrnoToStatus(error, absl::StrCat("cannot finish ", partial_path));
  if (std::rename(partial_path.c_str(), path.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot give the result its name, ", path));
  }
  return absl::OkStatus();
}

}  // namespace

ResultOutput::ResultOutput(const OutputOptions& options)
    : options_(options), partial_path_(absl::StrCat(options.path, ".", getpid(), ".tmp")) {}

absl::StatusOr<std::unique_ptr<ResultOutput>> ResultOutput::Open(const OutputOptions& options) {
  if (options.format == RowFormat::kSst && options.path == "-") {
    return absl::InvalidArgumentError("an SST file cannot go to the standard output: "
                                      "add --output=FILE");
  }
  std::unique_ptr<ResultOutput> output(new ResultOutput(options));
  const absl::Status status = output->Begin();
  if (!status.ok()) return status;
  return output;
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
    absl::StatusOr<std::unique_ptr<join::RevocableFile>> file =
        join::RevocableFile::Open(is_standard_output() ? "-" : partial_path_);
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

ResultOutput::~ResultOutput() {
  if (!is_standard_output() && sst_ == nullptr) unlink(partial_path_.c_str());
}

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
  if (is_standard_output() && committed_ > 0) {
    return absl::FailedPreconditionError(
        "they went to the standard output already: join again, or with --output=FILE");
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
  return is_standard_output() ? absl::OkStatus() : Publish(partial_path_, options_.path);
}

}  // namespace rocksieve::tools
