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
  if (status.IsCorruption()) text += ": the file is damaged, restore it from a backup";
  return absl::Status(CodeOf(status), absl::string_view(text.data(), text.size()));
}

}  // namespace rocksieve::join
