#include "plugin/join_api/result_sinks.h"

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

}  // namespace rocksieve::join
