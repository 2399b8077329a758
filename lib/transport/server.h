// SPDX-License-Identifier: Apache-2.0
// A gRPC server that answers joins, with gRPC's health service beside them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "lib/transport/credentials.h"
#include "lib/transport/join_service.h"
#include "lib/transport/listener.h"

namespace rocksieve::join {

struct ServerOptions {
  std::string address = "127.0.0.1:0";
  // Sockets that listen already, which become the server's; `address` is not used then.
  std::vector<int> listening;
  Security security;
  size_t most_buffer_bytes = 20 << 20;  // of gRPC, for all connections
  // Whether gRPC's reflection service answers, if the program is linked with it. It tells anybody
  // what there is, without a token.
  bool reflection = false;
  JoinServiceOptions service;
};

// Thread-safe.
class GrpcJoinServer {
 public:
  static absl::StatusOr<std::unique_ptr<GrpcJoinServer>> Start(OpenView open,
                                                               const ServerOptions& options);
  // Ends what is under way after a while.
  ~GrpcJoinServer();

  const std::string& address() const { return listener_->address(); }
  int port() const { return listener_->port(); }
  ServiceCounts counts() const { return service_->counts(); }

  // From now on, connections are taken by the certificates that the files have now, and sessions by
  // these tokens. Sessions under way go on; a connection without one is closed. If the certificates
  // cannot be used, all stays as it was. REQUIRES: Shutdown() was not called.
  absl::Status Reload(const Security& security, std::vector<std::string> tokens);

  // No new connections and sessions. Those that are not done by then are told UNAVAILABLE, so that
  // who asks comes again, and are cut off soon after that. Another thread may call it meanwhile,
  // for a shorter grace.
  void Shutdown(std::chrono::milliseconds grace);

 private:
  // What takes connections with one set of certificates.
  struct Incarnation {
    // Null once it is shut down.
    std::unique_ptr<grpc::Server> server;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
    std::thread end;  // waits for its last session, once there is a successor
    std::atomic<bool> ended = false;
  };

  explicit GrpcJoinServer(const ServerOptions& options);
  absl::StatusOr<std::unique_ptr<Incarnation>> Incarnate(const Security& security);
  void Take(int listening, Descriptor connection);

  const ServerOptions options_;
  grpc::ResourceQuota quota_;  // of all incarnations
  std::unique_ptr<GrpcJoinService> service_;
  std::unique_ptr<Listener> listener_;
  std::mutex stopping_;  // held while the listener stops
  std::mutex mutex_;
  std::unique_ptr<Incarnation> current_;            // null from Shutdown() on
  std::list<std::unique_ptr<Incarnation>> former_;  // those that still have sessions, maybe
};

}  // namespace rocksieve::join
