// The gRPC service that answers joins: for a program's own server, as in
//
//   std::unique_ptr<grpc::Service> joins = MakeJoinService(OpenViewsOf(db), {});
//   builder.RegisterService(joins.get());
//
// JoinServer (server.h) is a server with nothing else in it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/impl/codegen/service_type.h>

#include "join/answering_side.h"
#include "transport/drive.h"
#include "transport/view.h"
#include "transport/view_registry.h"

namespace rocksieve::join {

inline constexpr uint32_t kTransportVersion = 1;
inline constexpr char kJoinServiceName[] = "rocksieve.join.v1.Join";

// One session, when it has ended.
struct SessionReport {
  std::string peer;  // address
  absl::Status status;
  double seconds = 0;
  WireCounts counts;
};

struct JoinServiceOptions {
  size_t most_sessions = 16;
  size_t most_sessions_per_peer = 16;  // by certificate, else by address
  std::vector<std::string> tokens;     // one of them is needed; none: no token is
  std::chrono::milliseconds session_time{std::chrono::hours(6)};
  std::chrono::milliseconds first_frame_time{10'000};
  DriveLimits limits;
  AnsweringOptions answering;
  ViewRegistry::Options views;
  std::function<void(const SessionReport&)> report;  // called by several threads at once
};

std::unique_ptr<grpc::Service> MakeJoinService(OpenView open, JoinServiceOptions options);

}  // namespace rocksieve::join
