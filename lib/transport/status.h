// SPDX-License-Identifier: Apache-2.0
// Errors on their way between what we call, gRPC and the peer.
#pragma once

#include <string>
#include <string_view>

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <grpcpp/support/status.h>

namespace rocksieve::join {

// absl::Status and grpc::Status have the same codes. Both ways, the message is made printable
// (printable.h).
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// "PEER: MESSAGE", with the same code.
absl::Status NamingPeer(std::string_view peer, const absl::Status& status);

// What `work` says, which may throw: nothing of ours does, but what is allocated may, and so may a
// program's source of rows; one session must not end a process that has others. ResourceExhausted
// if it ran out of memory, or the system out of threads; Internal, with its text, if it threw
// something else.
absl::Status Guarded(absl::FunctionRef<absl::Status()> work);

}  // namespace rocksieve::join
