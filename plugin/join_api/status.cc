#include "plugin/join_api/status.h"

#include <string>

namespace rocksieve::join {

rocksdb::Status ToRocksDb(const absl::Status& status) {
  using Status = rocksdb::Status;
  const std::string message(status.message().data(), status.message().size());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return Status::OK();
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return Status::InvalidArgument(message);
    case absl::StatusCode::kNotFound:
      return Status::NotFound(message);
    case absl::StatusCode::kUnimplemented:
      return Status::NotSupported(message);
    case absl::StatusCode::kUnavailable:
      return Status::TryAgain(message);
    case absl::StatusCode::kDeadlineExceeded:
      return Status::TimedOut(message);
    case absl::StatusCode::kCancelled:
      return Status::Aborted(message);
    case absl::StatusCode::kResourceExhausted:
      return Status::Busy(message);
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
      return Status::Corruption(message);
    default:
      return Status::IOError(message);
  }
}

}  // namespace rocksieve::join
