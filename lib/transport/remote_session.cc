#include "lib/transport/remote_session.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>

#include "join.grpc.pb.h"
#include "lib/transport/address.h"
#include "lib/transport/join_service.h"
#include "lib/transport/printable.h"
#include "lib/transport/session_stream.h"
#include "lib/transport/status.h"

namespace rocksieve::join {
namespace {

constexpr int kReconnectMs = 200;
// Of what the server sends before this side has read it: a second of 32 Mbit/s of rows. gRPC's own
// measure of the link grows it to tens of megabytes for a server that sends as fast as it can.
constexpr int kAheadBytes = 4 << 20;
constexpr size_t kMostIdentityBytes = 256;  // of a database, for messages

std::shared_ptr<grpc::Channel> Connect(const Remote& remote) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostFrameBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Else gRPC lets the server send ahead as much as the line carries: 80 MiB on a fast one.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kAheadBytes);
  // Each attempt connects anew, and does not inherit the waiting times of the one before.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A name with several addresses: sessions go to each of them in turn.
  arguments.SetLoadBalancingPolicyName("round_robin");
  if (!remote.server_name.empty()) arguments.SetSslTargetNameOverride(remote.server_name);
  return grpc::CreateCustomChannel(remote.address, remote.credentials, arguments);
}

// Of a call that ended before the session began.
absl::Status SaidByServer(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInternal:  // gRPC's own
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
      return status;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented:
      return {status.code(), absl::StrCat("the other side refused: ", status.message())};
    default:
      return {status.code(), absl::StrCat("the other side failed: ", status.message())};
  }
}

// Gives a call up after a while, or when work is cancelled, unless it is destroyed in time: calls
// of gRPC block.
class Alarm {
 public:
  Alarm(std::chrono::milliseconds after, const Cancellation* cancellation,
        grpc::ClientContext* context)
      : give_up_{context},
        when_cancelled_(cancellation->token(), give_up_),
        thread_([this, until = std::min(Cancellation::Clock::now() + after,
                                        cancellation->deadline())](std::stop_token in_time) {
          SleepUntil(until, in_time);
          if (in_time.stop_requested()) return;
          rang_ = true;
          give_up_();
        }) {}
  bool rang() const { return rang_; }

 private:
  struct GiveUp {
    grpc::ClientContext* context;
    void operator()() const { context->TryCancel(); }
  };
  const GiveUp give_up_;
  const std::stop_callback<GiveUp> when_cancelled_;
  std::atomic<bool> rang_ = false;
  std::jthread thread_;
};

constexpr char kNobody[] = "start rocksieve serve there, or name the address that it says";

// gRPC's words for a failed connection as one line with a remedy, which fits the address and
// whether TLS was tried. Unavailable.
absl::Status ConnectError(const std::string& address, bool insecure, const absl::Status& status) {
  const absl::string_view message = status.message();
  if (absl::StrContains(message, "Connection refused")) {
    return absl::UnavailableError(
        absl::StrCat("nobody listens there (connection refused): ", kNobody));
  }
  if (UnixSocketPath(address) && absl::StrContains(message, "No such file or directory")) {
    return absl::UnavailableError(absl::StrCat("there is no such socket: ", kNobody));
  }
  if (insecure) {
    return absl::UnavailableError(
        absl::StrCat(message,
                     ": does a rocksieve server listen there, and is it --insecure, too? If it has "
                     "certificates, join with --certs"));
  }
  return absl::UnavailableError(
      absl::StrCat(message,
                   ": does a server listen there, and do both sides use certificates of the same "
                   "authority, or both --insecure?"));
}

}  // namespace

struct RemoteSession::Call {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Join::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<ClientStream> stream;
  bool finished = false;

  absl::Status Finish() {
    finished = true;
    return FromGrpc(stream->Finish());
  }
};

RemoteSession::RemoteSession(std::unique_ptr<Call> call, const Cancellation* cancellation,
                             const DriveLimits& limits)
    : call_(std::move(call)), cancellation_(cancellation), limits_(limits) {}

RemoteSession::~RemoteSession() {
  if (call_->finished) return;
  call_->context.TryCancel();
  call_->Finish().IgnoreError();
}

absl::StatusOr<std::unique_ptr<RemoteSession>> RemoteSession::Start(
    const Remote& remote, const ViewRequest& request, const std::string& view,
    const std::string& strategy, const Cancellation* cancellation, const DriveLimits& limits) {
  const absl::Status cancelled = cancellation->Check();
  if (!cancelled.ok()) return cancelled;
  auto call = std::make_unique<Call>();
  call->channel = Connect(remote);
  call->stub = v1::Join::NewStub(call->channel);
  if (cancellation->deadline() != Cancellation::Clock::time_point::max()) {
    // By a clock that nobody sets: gRPC reads the time of day again when the call begins, and would
    // end it at once if that was set forward in between.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        cancellation->deadline() - Cancellation::Clock::now());
    call->context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                            gpr_time_from_millis(left.count(), GPR_TIMESPAN)));
  }
  if (!remote.token.empty()) {
    call->context.AddMetadata(kTokenMetadata, kTokenScheme + remote.token);
  }
  std::unique_ptr<RemoteSession> session(new RemoteSession(std::move(call), cancellation, limits));
  const absl::Status status = session->Greet(remote, request, view, strategy);
  if (!status.ok()) return status;
  return session;
}

absl::Status RemoteSession::Greet(const Remote& remote, const ViewRequest& request,
                                  const std::string& view, const std::string& strategy) {
  v1::Frame frame;
  v1::Start* const start = frame.mutable_start();
  start->set_version(kTransportVersion);
  start->set_column_family(request.column_family);
  start->set_on(request.on);
  start->set_view(view);
  start->set_strategy(strategy);
  bool answered = false, rang = false;
  {
    const Alarm alarm(limits_.exchange.silence, cancellation_, &call_->context);
    call_->stream = call_->stub->Session(&call_->context);
    answered = call_->stream->Write(frame) && call_->stream->Read(&frame);
    // gRPC has no status for a stream of which something is unread.
    if (!answered) {
      while (call_->stream->Read(&frame)) {
      }
    }
    rang = alarm.rang();
  }
  if (!answered) {
    const absl::Status status = call_->Finish();
    const absl::Status cancelled = cancellation_->Check();
    if (!cancelled.ok()) return cancelled;
    if (rang) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer to the greeting within ",
                       static_cast<double>(limits_.exchange.silence.count()) / 1000,
                       " s: is it a rocksieve server, and not stuck?"));
    }
    if (status.ok()) return absl::UnavailableError("the server hung up without a word");
    if (absl::IsUnavailable(status)) return ConnectError(remote.address, remote.insecure, status);
    return SaidByServer(status);
  }
  if (!frame.has_started() || frame.started().version() != kTransportVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the server speaks version ", frame.started().version(), " of the transport, this side ",
        kTransportVersion, ": use the same version of rocksieve on both sides"));
  }
  view_.name = frame.started().view();
  view_.resumed = frame.started().resumed();
  view_.database = Printable(frame.started().database(), kMostIdentityBytes);
  return absl::OkStatus();
}

absl::Status RemoteSession::Run(Session* session, WireCounts* counts) {
  GrpcChannel channel(call_->stream.get(), &call_->context);
  const absl::Status status =
      Guarded([&] { return Drive(session, &channel, cancellation_, limits_, counts); });
  const absl::Status ended = call_->Finish();
  // A stream that broke may have an end that says why.
  if (absl::IsUnavailable(status) && !ended.ok() && !absl::IsCancelled(ended)) return ended;
  return Printable(status);  // it may be what the server said
}

}  // namespace rocksieve::join
