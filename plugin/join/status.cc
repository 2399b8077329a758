// SPDX-License-Identifier: Apache-2.0
#include "plugin/join/status.h"

#include <string>

namespace rocksieve::join {
namespace {

absl::StatusCode CodeOf(const rocksdb::Status& status) {
  if (status.IsNotFound() || status.IsPathNotFound()) return absl::StatusCode::kNotFound;
  if (status.IsCorruption()) return absl::StatusCode::kDataLoss;
  if (status.IsNotSupported()) return absl::StatusCode::kUnimplemented;
  if (status.IsInvalidArgument()) return absl::StatusCode::kInvalidArgument;
  if (status.IsNoSpace() || status.IsMemoryLimit()) return absl::StatusCode::kResourceExhausted;
  if (status.IsBusy() || status.IsTryAgain()) return absl::StatusCode::kUnavailable;
  return absl::StatusCode::kInternal;
}

}  // namespace

absl::Status FromRocksDb(const rocksdb::Status& status, std::string_view doing) {
  if (status.ok()) return absl::OkStatus();
  std::string text = std::string(doing) + ": " + status.ToString();
  if (text.find("Could not perform merge") != std::string::npos ||
      text.find("Merge operator failed") != std::string::npos) {  // of RocksDB 7, from 8.0
    text += ": the merge operator of its program is not in this one, or failed";
  } else if (status.IsCorruption()) {
    text += ": the file is damaged, restore it from a backup";
  }
  return absl::Status(CodeOf(status), absl::string_view(text.data(), text.size()));
}

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
