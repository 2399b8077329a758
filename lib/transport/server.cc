#include "transport/server.h"

#include <mutex>
#include <utility>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "transport/address.h"
#include "transport/frame.h"
#include "transport/listening.h"

namespace rocksieve::join {
namespace {

constexpr int kEnvelopeBytes = 4096;  // of a frame around its piece, generously
constexpr int kKeepaliveMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kLeastPingIntervalMs = 5'000;  // of clients; who pings more often is cut off
constexpr int kMostHeaderBytes = 8 << 10;

void UsePlugins() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void Limit(const ServerOptions& options, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(kMostPieceBytes) + kEnvelopeBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMostHeaderBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              static_cast<int>(options.service.most_sessions) + 4);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              kLeastPingIntervalMs);
  // Two servers on one port would share its connections in silence.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  grpc::ResourceQuota quota("rocksieve");
  quota.Resize(options.most_buffer_bytes);
  // One per session, those that are refused, and gRPC's own.
  quota.SetMaxThreads(static_cast<int>(options.service.most_sessions) + 16);
  builder->SetResourceQuota(quota);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JoinServer>> JoinServer::Start(OpenView open,
                                                              const ServerOptions& options) {
  absl::Status status = CheckAddress(options.address, AddressUse::kListen);
  if (status.ok()) status = CheckSocketIsFree(options.address);
  if (!status.ok()) return status;
  UsePlugins();
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials =
      ServerCredentialsFor(options.address, options.security);
  if (!credentials.ok()) return credentials.status();
  std::unique_ptr<JoinServer> server(new JoinServer);
  server->service_ = MakeJoinService(std::move(open), options.service);
  grpc::ServerBuilder builder;
  Limit(options, &builder);
  builder.AddListeningPort(options.address, *credentials, &server->port_);
  builder.RegisterService(server->service_.get());
  server->server_ = builder.BuildAndStart();
  const bool listens = server->port_ != 0 || UnixSocketPath(options.address);
  if (server->server_ == nullptr || !listens) return WhyNotListening(options.address);
  server->server_->GetHealthCheckService()->SetServingStatus(kJoinServiceName, true);
  return server;
}

void JoinServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  if (server_->GetHealthCheckService() != nullptr) {
    server_->GetHealthCheckService()->SetServingStatus(false);
  }
  server_->Shutdown(std::chrono::system_clock::now() + grace);
  server_->Wait();
  server_.reset();
}

JoinServer::~JoinServer() { Shutdown(std::chrono::milliseconds(0)); }

}  // namespace rocksieve::join
