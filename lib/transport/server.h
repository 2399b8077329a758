// SPDX-License-Identifier: Apache-2.0
// The gRPC service that answers joins, for a program's own server; and a server with nothing else
// in it but gRPC's health service.
//
//   std::unique_ptr<GrpcJoinService> joins = MakeGrpcJoinService(OpenViewsOf(db), {});
//   builder.RegisterService(joins->service());
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "lib/join/operation.h"
#include "lib/join/session/server_session.h"
#include "lib/transport/credentials.h"
#include "lib/transport/drive.h"
#include "lib/transport/listener.h"
#include "lib/transport/view_registry.h"

namespace rocksieve::join {

inline constexpr uint32_t kTransportVersion = 1;
inline constexpr char kJoinServiceName[] = "rocksieve.join.v1.Join";
// What sessions are told when the server ends.
inline constexpr char kServerEnds[] = "the server is being shut down: join again when it is back";

// One session, when it has ended.
struct SessionReport {
  std::string peer;                    // address
  std::string certificate_name;        // of the peer; empty without TLS
  bool admitted = false;               // else it was refused before it began
  std::optional<Operation> operation;  // nothing before the peer's hello
  absl::Status status;
  double seconds = 0;
  uint64_t rows_sent = 0;
  WireCounts counts;
};

struct JoinServiceOptions {
  size_t most_sessions = 16;
  // Of all sessions together, and the views that are kept: docs/transport.md. What it is divided
  // into replaces the limits of bytes and keys below.
  uint64_t memory_bytes = uint64_t{1} << 30;
  size_t most_sessions_per_peer = 16;  // by certificate, else by address
  std::vector<std::string> tokens;     // one of them is needed; none: no token is
  std::chrono::milliseconds session_time{std::chrono::hours(6)};
  std::chrono::milliseconds first_frame_time{10'000};
  // That compute for all sessions together, beside one of each that reads and talks; 1: just that.
  size_t threads = 1;
  DriveLimits limits;
  ServerSessionOptions server;
  ViewRegistry::Options views;
  // Of the database and of temporary files: callers are not told of them.
  std::vector<std::string> directories;
  std::function<void(const SessionReport&)> report;  // called by several threads at once
};

// Thread-safe. A call costs a thread from its first frame on, if it is admitted then, and none of
// gRPC's: calls that say nothing keep no others out.
class GrpcJoinService {
 public:
  // Waits for what is under way. REQUIRES: its server has been shut down.
  virtual ~GrpcJoinService() = default;

  virtual grpc::Service* service() = 0;
  // What new sessions need one of from now on; none: no token is.
  virtual void SetTokens(std::vector<std::string> tokens) = 0;
  virtual ServerCounters counters() const = 0;
  // From now on, new sessions are told UNAVAILABLE. Waits for those that are under way, as long as
  // `grace`; then they are told likewise, and end at once. Several threads may be in it: the
  // shortest grace counts.
  virtual void EndSessions(std::chrono::milliseconds grace) = 0;
};

std::unique_ptr<GrpcJoinService> MakeGrpcJoinService(OpenView open, JoinServiceOptions options);

struct ServerOptions {
  std::string address = "127.0.0.1:0";
  // Sockets that listen already, which become the server's; `address` is not used then.
  std::vector<int> listening;
  Security security;
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
  ServerCounters counters() const { return service_->counters(); }

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
