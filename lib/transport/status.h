// absl::Status and grpc::Status have the same codes; errors are told with the peer's name.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>
#include <grpcpp/support/status.h>

namespace rocksieve::join {

// Both ways, the message is made printable (printable.h).
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// "PEER: MESSAGE", with the same code.
absl::Status NamingPeer(std::string_view peer, const absl::Status& status);

}  // namespace rocksieve::join
