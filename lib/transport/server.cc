#include "lib/transport/server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <absl/strings/str_cat.h>
#include <grpc/support/time.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "lib/transport/address.h"
#include "lib/transport/session_stream.h"

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
constexpr std::chrono::milliseconds kLastWord(300);  // for telling callers of the end

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

void Limit(const ServerOptions& options, grpc::ServerBuilder* builder) {
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
  // Two servers on one port would share its connections in silence.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Else gRPC lets each stream send ahead as much as the line carries.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kAheadBytes);
  grpc::ResourceQuota quota("rocksieve");
  quota.Resize(options.most_buffer_bytes);
  quota.SetMaxThreads(kMostThreads);
  builder->SetResourceQuota(quota);
  if (!options.reflection) builder->SetOption(std::make_unique<WithoutReflection>());
}

// Whether somebody would answer; also true if this process may not ask.
bool IsListenedOn(const std::string& path) {
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return true;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int result =
      connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const bool nobody = result != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  close(descriptor);
  return !nobody;
}

// The first error of the system on the way to listening; 0 if all goes well now.
int ErrorOfBinding(const addrinfo& address) {
  const int descriptor = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return errno;
  const int yes = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  const bool listens =
      bind(descriptor, address.ai_addr, address.ai_addrlen) == 0 && listen(descriptor, 1) == 0;
  const int error = listens ? 0 : errno;
  close(descriptor);
  return error;
}

// In the words of the system; empty if it has nothing against it.
std::string ErrorOfListening(const std::string& address) {
  const auto [host, port] = HostAndPort(address);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unresolved = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (unresolved != 0) return gai_strerror(unresolved);
  int error = 0;
  for (const addrinfo* each = found; each != nullptr && error == 0; each = each->ai_next) {
    error = ErrorOfBinding(*each);
  }
  freeaddrinfo(found);
  return error == 0 ? "" : std::strerror(error);
}

// FailedPrecondition for a unix socket that a living server listens on, and for any other file of
// that name: gRPC would take the socket over in silence. What a server left behind that was killed
// is no obstacle.
absl::Status CheckSocketIsFree(const std::string& address) {
  const std::optional<std::string> path = UnixSocketPath(address);
  struct stat there {};
  if (!path || stat(path->c_str(), &there) != 0) return absl::OkStatus();
  if (!S_ISSOCK(there.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "cannot listen on ", address,
        ": there is a file of that name that is no socket; it was kept. Choose another name"));
  }
  if (!IsListenedOn(*path)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot listen on ", address,
                   ": another server does already. End that one, or choose another name"));
}

// After listening on an address failed: what the system says about it, and a remedy.
absl::Status WhyNotListening(const std::string& address) {
  const std::string what = absl::StrCat("cannot listen on ", address, ": ");
  if (UnixSocketPath(address)) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, "is its directory there, and may this user write to it?"));
  }
  const std::string error = ErrorOfListening(address);
  return absl::FailedPreconditionError(absl::StrCat(
      what, error, error.empty() ? "" : ". ",
      "Name an address of this machine, and a port that nobody listens on; 0 is any that is free"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<GrpcJoinServer>> GrpcJoinServer::Start(
    OpenView open, const ServerOptions& options) {
  absl::Status status = CheckAddress(options.address, AddressUse::kListen);
  if (status.ok()) status = CheckSocketIsFree(options.address);
  if (!status.ok()) return status;
  UseHealthService();
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> credentials =
      ServerCredentialsFor(options.address, options.security);
  if (!credentials.ok()) return credentials.status();
  std::unique_ptr<GrpcJoinServer> server(new GrpcJoinServer);
  server->service_ = MakeGrpcJoinService(std::move(open), options.service);
  grpc::ServerBuilder builder;
  Limit(options, &builder);
  builder.AddListeningPort(options.address, *credentials, &server->port_);
  builder.RegisterService(server->service_->service());
  server->server_ = builder.BuildAndStart();
  const bool listens = server->port_ != 0 || UnixSocketPath(options.address);
  if (server->server_ == nullptr || !listens) return WhyNotListening(options.address);
  server->server_->GetHealthCheckService()->SetServingStatus(kJoinServiceName, true);
  return server;
}

void GrpcJoinServer::Shutdown(std::chrono::milliseconds grace) {
  if (server_ == nullptr) return;
  if (server_->GetHealthCheckService() != nullptr) {
    server_->GetHealthCheckService()->SetServingStatus(false);
  }
  service_->EndSessions(grace);
  server_->Shutdown(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                 gpr_time_from_millis(kLastWord.count(), GPR_TIMESPAN)));
  server_->Wait();
  server_.reset();
}

GrpcJoinServer::~GrpcJoinServer() { Shutdown(std::chrono::milliseconds(0)); }

}  // namespace rocksieve::join
