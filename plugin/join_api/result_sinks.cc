#include "join_api/result_sinks.h"

namespace rocksieve::join {

absl::Status CallbackSink::Commit() {
  const absl::Status status = pending_.Visit([this](const Row& row, Side from) {
    if (!*on_row_) return absl::OkStatus();
    any_given_ = true;
    status_ = (*on_row_)({row.key, row.value, from == Side::kAsking});
    return status_.ok() ? absl::OkStatus() : absl::CancelledError("a callback ended the join");
  });
  return status.ok() ? pending_.Clear() : status;
}

absl::Status CallbackSink::Restart() {
  if (any_given_) {
    return absl::FailedPreconditionError("they were given to the program already: join again");
  }
  return pending_.Clear();
}

absl::StatusOr<std::unique_ptr<SstResultSink>> SstResultSink::Open(const std::string& path,
                                                                   const SstSinkOptions& options) {
  std::unique_ptr<SstResultSink> sink(new SstResultSink(path, options));
  const absl::Status status = sink->Restart();
  if (!status.ok()) return status;
  return sink;
}

absl::Status SstResultSink::Restart() {
  sink_.reset();  // removes what it has written
  absl::StatusOr<std::unique_ptr<SstSink>> sink = SstSink::Open(path_, options_);
  if (!sink.ok()) return sink.status();
  sink_ = *std::move(sink);
  return absl::OkStatus();
}

}  // namespace rocksieve::join
