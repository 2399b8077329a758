// A gRPC server that answers joins, with health and reflection services beside them.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include <absl/status/statusor.h>
#include <grpcpp/server.h>

#include "transport/credentials.h"
#include "transport/join_service.h"

namespace rocksieve::join {

struct ServerOptions {
  std::string address = "127.0.0.1:0";
  Security security;
  size_t most_buffer_bytes = 256 << 20;  // of gRPC, for all connections
  JoinServiceOptions service;
};

class JoinServer {
 public:
  static absl::StatusOr<std::unique_ptr<JoinServer>> Start(OpenView open,
                                                           const ServerOptions& options);
  // Ends what is under way after a while.
  ~JoinServer();

  int port() const { return port_; }
  // No new sessions; those that are not done by then are cut off.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  JoinServer() = default;

  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace rocksieve::join
