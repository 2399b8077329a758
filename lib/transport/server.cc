// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/server.h"

#include <algorithm>
#include <utility>

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>

#include "lib/transport/session_stream.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr int kLeastPingIntervalMs = 5'000;  // of clients; who pings more often is cut off
constexpr int kMostHeaderBytes = 8 << 10;
constexpr int kMostHandshakeMs = 10'000;
constexpr int kAheadBytes = 256 << 10;  // of a stream, that nobody has read
constexpr int kMostIdleMs = 60'000;     // of a connection without a call
// Of services that are not ours: those of joins have threads of their own.
constexpr size_t kMostStreams = 64;  // of a connection
constexpr int kMostThreads = 16;
constexpr size_t kMostBufferBytes = 20 << 20;  // of gRPC, for all connections
constexpr std::chrono::milliseconds kLastWord(300);  // for telling callers of the end

gpr_timespec DeadlineIn(std::chrono::milliseconds time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

void UseHealthService() {
  static std::once_flag once;
  std::call_once(once, [] { grpc::EnableDefaultHealthCheckService(true); });
}

// Linking with gRPC's reflection library turns it on in all servers of the process.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    std::erase_if(*plugins,
                  [](const auto& plugin) { return plugin->name() == "proto_server_reflection"; });
  }
};

void Limit(const ServerOptions& options, const grpc::ResourceQuota& quota,
           grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kMostFrameBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostHeaderBytes);
  builder->AddChannelArgument(
      GRPC_ARG_MAX_CONCURRENT_STREAMS,
      static_cast<int>(std::min(options.service.most_sessions, kMostStreams)) + 4);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kMostHandshakeMs);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMostIdleMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kLeastPingIntervalMs);
  // Else gRPC lets each stream send ahead as much as the line carries.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kAheadBytes);
  builder->SetResourceQuota(quota);
  if (!options.reflection) builder->SetOption(std::make_unique<WithoutReflection>());
}

}  // namespace

GrpcJoinServer::GrpcJoinServer(const ServerOptions& options)
    : options_(options), quota_("rocksieve") {
  quota_.Resize(kMostBufferBytes);
  quota_.SetMaxThreads(kMostThreads);
}

absl::StatusOr<std::unique_ptr<GrpcJoinServer>> GrpcJoinServer::Start(
    OpenView open, const ServerOptions& options) {
  UseHealthService();
  std::unique_ptr<GrpcJoinServer> server(new GrpcJoinServer(options));
  ASSIGN_OR_RETURN(server->listener_, options.listening.empty()
                                          ? Listener::Open(options.address)
                                          : Listener::Adopt(options.listening));
  server->service_ = MakeGrpcJoinService(std::move(open), options.service);
  ASSIGN_OR_RETURN(server->current_, server->Incarnate(options.security));
  server->listener_->Start([raw = server.get()](int listening, Descriptor connection) {
    raw->Take(listening, std::move(connection));
  });
  return server;
}

absl::StatusOr<std::unique_ptr<GrpcJoinServer::Incarnation>> GrpcJoinServer::Incarnate(
    const Security& security) {
  ASSIGN_OR_RETURN(std::shared_ptr<grpc::ServerCredentials> credentials,
                   ServerCredentialsFor(listener_->reachable_address(), security));
  auto incarnation = std::make_unique<Incarnation>();
  grpc::ServerBuilder builder;
  Limit(options_, quota_, &builder);
  incarnation->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  builder.RegisterService(service_->service());
  incarnation->server = builder.BuildAndStart();
  if (incarnation->server == nullptr) {
    return absl::InternalError("gRPC could not start a server, and does not say why");
  }
  incarnation->server->GetHealthCheckService()->SetServingStatus(kJoinServiceName, true);
  return incarnation;
}

void GrpcJoinServer::Take(int listening, Descriptor connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (current_ == nullptr) return;
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
  taken.listener_fd = listening;
  taken.fd = connection.Release();
  current_->acceptor->HandleNewConnection(&taken);
}

absl::Status GrpcJoinServer::Reload(const Security& security, std::vector<std::string> tokens) {
  std::unique_ptr<Incarnation> next;
  if (!security.insecure || !options_.security.insecure) {
    ASSIGN_OR_RETURN(next, Incarnate(security));
  }
  service_->SetTokens(std::move(tokens));
  if (next == nullptr) return absl::OkStatus();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (current_ == nullptr) return absl::CancelledError("the server is being shut down");
  current_.swap(next);
  next->server->GetHealthCheckService()->SetServingStatus(false);
  // Connections are told to go, and sessions that are under way are waited for. Callers that watch
  // the health may stay as long as a session may: without end they would keep all of this.
  next->end = std::thread([raw = next.get(), time = options_.service.session_time] {
    raw->server->Shutdown(DeadlineIn(time));
    raw->ended = true;
  });
  former_.remove_if([](const std::unique_ptr<Incarnation>& each) {
    if (!each->ended) return false;
    each->end.join();
    return true;
  });
  former_.push_back(std::move(next));
  return absl::OkStatus();
}

void GrpcJoinServer::Shutdown(std::chrono::milliseconds grace) {
  std::unique_ptr<Incarnation> last;
  std::list<std::unique_ptr<Incarnation>> former;
  if (service_ == nullptr) return;  // it could not be started
  {
    const std::lock_guard<std::mutex> lock(stopping_);
    listener_->Stop();
  }
  service_->EndSessions(grace);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last = std::move(current_);
    former.swap(former_);
  }
  if (last == nullptr) return;
  last->server->GetHealthCheckService()->SetServingStatus(false);
  last->server->Shutdown(DeadlineIn(kLastWord));
  last->server->Wait();
  for (const std::unique_ptr<Incarnation>& each : former) {
    // Its sessions have been told, as those of the last one.
    grpc_server_cancel_all_calls(each->server->c_server());
    each->end.join();
    each->server->Wait();
  }
}

GrpcJoinServer::~GrpcJoinServer() { Shutdown(std::chrono::milliseconds(0)); }

}  // namespace rocksieve::join
