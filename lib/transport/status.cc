#include "transport/status.h"

#include <absl/strings/str_cat.h>

namespace rocksieve::join {
namespace {

constexpr size_t kMostMessageBytes = 4096;  // gRPC carries it in a header, which is limited to 8 KB

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()),
          std::string(status.message().substr(0, kMostMessageBytes))};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string& message = status.error_message();
  return {static_cast<absl::StatusCode>(status.error_code()),
          message.empty() ? "the call ended without a reason" : message};
}

absl::Status NamingPeer(std::string_view peer, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", status.message())};
}

}  // namespace rocksieve::join
