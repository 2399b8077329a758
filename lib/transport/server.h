// SPDX-License-Identifier: Apache-2.0
// A gRPC server that answers joins, with gRPC's health service beside them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <grpcpp/server.h>

#include "lib/transport/credentials.h"
#include "lib/transport/join_service.h"

namespace rocksieve::join {

struct ServerOptions {
  std::string address = "127.0.0.1:0";
  Security security;
  size_t most_buffer_bytes = 20 << 20;  // of gRPC, for all connections
  // Whether gRPC's reflection service answers, if the program is linked with it. It tells anybody
  // what there is, without a token.
  bool reflection = false;
  JoinServiceOptions service;
};

class GrpcJoinServer {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcJoinServer>> Start(OpenView open,
                                                               const ServerOptions& options);
  // Ends what is under way after a while.
  ~GrpcJoinServer();

  int port() const { return port_; }
  // No new sessions. Those that are not done by then are told UNAVAILABLE, so that who asks comes
  // again, and are cut off soon after that.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  GrpcJoinServer() = default;

  std::unique_ptr<GrpcJoinService> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace rocksieve::join
