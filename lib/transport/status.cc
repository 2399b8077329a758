#include "lib/transport/status.h"

#include <absl/strings/str_cat.h>

#include "lib/transport/printable.h"

namespace rocksieve::join {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // gRPC carries it in a header, which is limited to 8 KB: thrice as long if it is not ASCII.
  const absl::Status printable = Printable(status);
  return {static_cast<grpc::StatusCode>(printable.code()), std::string(printable.message())};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message = Printable(status.error_message());
  return {static_cast<absl::StatusCode>(status.error_code()),
          message.empty() ? "the call ended without a reason" : message};
}

absl::Status NamingPeer(std::string_view peer, const absl::Status& status) {
  if (status.ok()) return status;
  return {status.code(),
          absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", status.message())};
}

}  // namespace rocksieve::join
