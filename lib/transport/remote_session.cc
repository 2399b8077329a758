// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/client.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/support/client_callback.h>

#include "join.grpc.pb.h"
#include "lib/transport/credentials.h"
#include "lib/transport/frame.h"
#include "lib/transport/server.h"
#include "lib/transport/session_stream.h"
#include "lib/transport/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr int kReconnectMs = 200;
// Of what the server sends before this side has read it, at first: a second of 32 Mbit/s of rows.
constexpr int kAheadBytes = 4 << 20;
constexpr size_t kMostBufferBytes = 16 << 20;  // of gRPC, for a connection
constexpr size_t kMostIdentityBytes = 256;  // of a database, for messages

std::shared_ptr<grpc::Channel> Connect(const Remote& remote) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostFrameBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Else the server may send ahead 64 KiB and a message on a line, whatever its streams may: with
  // a delay of 50 ms, 4 MB/s. What gRPC finds that a line carries can be 80 MiB: it has a limit.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 1);
  grpc::ResourceQuota quota("rocksieve");
  quota.Resize(kMostBufferBytes);
  arguments.SetResourceQuota(quota);
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

// The client's end of a stream of gRPC.
class CallStream final : public FrameStream<grpc::ClientBidiReactor<v1::Frame, v1::Frame>> {
 public:
  explicit CallStream(grpc::ClientContext* context) : context_(context) {}

  // With a greeting. REQUIRES: Begin() comes next, and End() at last.
  void Open(v1::Join::Stub* stub, const v1::Start& start) {
    *out_.mutable_start() = start;
    stub->async()->Session(context_, this);
    AddHold();
    StartCall();
    Send("");
  }
  // What the server said first. REQUIRES: something has arrived.
  const v1::Frame& greeting() const { return greeting_; }

  // How the call ended, which it does now. Once, after Open().
  grpc::Status End() {
    GiveUp();
    RemoveHold();
    std::unique_lock<std::mutex> lock(mutex_);
    over_.wait(lock, [this] { return status_.has_value(); });
    return *status_;
  }

 private:
  void StartClosing() override { StartWritesDone(); }
  void Cancel() override { context_->TryCancel(); }

  void OnReadDone(bool ok) override {
    if (ok && !std::exchange(greeted_, true)) greeting_.Swap(&in_);
    OnRead(ok, TakePiece());
  }
  void OnWritesDoneDone(bool ok) override { OnWritten(ok); }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = status;
    over_.notify_all();  // under the lock: this may be gone behind it
  }

  grpc::ClientContext* const context_;
  v1::Frame greeting_;
  bool greeted_ = false;
  std::mutex mutex_;
  std::condition_variable over_;
  std::optional<grpc::Status> status_;
};

constexpr char kNobody[] = "start rocksieve serve there, or name the address that it says";

// "... Peer name db.example is not in peer certificate" -> "db.example".
absl::string_view PeerNameIn(absl::string_view message) {
  constexpr absl::string_view kBefore = "Peer name ", kAfter = " is not in peer certificate";
  const size_t end = message.find(kAfter);
  const size_t begin = message.rfind(kBefore, end);
  if (end == absl::string_view::npos || begin == absl::string_view::npos) return "";
  return message.substr(begin + kBefore.size(), end - begin - kBefore.size());
}

// What of a failed TLS handshake will be so the next time, too: Unauthenticated. OK if it is
// something else. A server that does not accept this side's certificate hangs up without a word
// (TLS 1.3), and is not known by that.
absl::Status HandshakeError(absl::string_view message) {
  const absl::string_view name = PeerNameIn(message);
  if (!name.empty()) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the server's certificate is not for ", name,
        ": name one of those that it is for with --server-name=NAME, or give the server one for ",
        name, " (rocksieve certs --name=", name, ")"));
  }
  if (absl::StrContains(message, "certificate verify failed")) {
    return absl::UnauthenticatedError(
        "the server's certificate is not valid, or not signed by this side's authority: use "
        "certificates of the same authority on both sides (--certs, --ca), and see whether they "
        "have expired");
  }
  if (absl::StrContains(message, "wrong version number")) {
    return absl::UnauthenticatedError(
        "the server does not speak TLS: if it is --insecure, and may be, join with --insecure");
  }
  if (absl::StrContains(message, "SSL routines") && absl::StrContains(message, "alert")) {
    return absl::UnauthenticatedError(
        absl::StrCat("the server does not accept this side's certificate (", message,
                     "): use certificates of the same authority on both sides (--certs, --cert)"));
  }
  return absl::OkStatus();
}

// gRPC's words for a failed connection as one line with a remedy, which fits the address and
// whether TLS was tried. Unavailable, if it may be different the next time.
absl::Status ConnectError(const std::string& address, bool insecure, const absl::Status& status) {
  const absl::string_view message = status.message();
  if (absl::StrContains(message, "Connection refused")) {
    return absl::UnavailableError(
        absl::StrCat("nobody listens there (connection refused): ", kNobody));
  }
  if (UnixSocketPath(address) && absl::StrContains(message, "No such file or directory")) {
    return absl::UnavailableError(absl::StrCat("there is no such socket: ", kNobody));
  }
  RETURN_IF_ERROR(insecure ? absl::OkStatus() : HandshakeError(message));
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
  CallStream stream{&context};
  bool finished = true;

  absl::Status Finish() {
    finished = true;
    return FromGrpc(stream.End());
  }
};

RemoteSession::RemoteSession(std::unique_ptr<Call> call, const Cancellation* cancellation,
                             const DriveLimits& limits)
    : call_(std::move(call)), cancellation_(cancellation), limits_(limits) {}

RemoteSession::~RemoteSession() {
  if (!call_->finished) call_->Finish().IgnoreError();
}

absl::StatusOr<std::unique_ptr<RemoteSession>> RemoteSession::Start(
    const Remote& remote, const ViewRequest& request, const Wish& wish,
    const Cancellation* cancellation, const DriveLimits& limits, std::string_view first) {
  RETURN_IF_ERROR(cancellation->Check());
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
  RETURN_IF_ERROR(session->Greet(remote, request, wish, first));
  return session;
}

absl::Status RemoteSession::Greet(const Remote& remote, const ViewRequest& request,
                                  const Wish& wish, std::string_view first) {
  v1::Start start;
  start.set_version(kTransportVersion);
  start.set_column_family(request.column_family);
  start.set_on(request.on);
  start.set_keep(request.keep);
  start.set_since(request.since);
  start.set_view(wish.view);
  start.set_strategy(wish.strategy);
  start.set_describe(wish.describe);
  CallStream* const stream = &call_->stream;
  call_->finished = false;
  stream->Open(call_->stub.get(), start);
  stream->Begin(limits_.exchange, cancellation_);
  if (!first.empty()) {
    FrameWriter writer;
    writer.Add(first);
    while (writer.pending_bytes() > 0) stream->Send(writer.TakePiece());
  }
  const Exchange::Event event = stream->Wait(/*for_arrival=*/true, /*for_room=*/false);
  std::string none;
  if (!stream->TakeArrived(&none)) {
    // gRPC has no status for a stream of which something is unread.
    if (event == Exchange::Event::kEnded) stream->Close();
    const absl::Status status = call_->Finish();
    RETURN_IF_ERROR(cancellation_->Check());
    if (event == Exchange::Event::kSilence) {
      return absl::DeadlineExceededError(
          absl::StrCat("no answer to the greeting within ",
                       static_cast<double>(limits_.exchange.silence.count()) / 1000,
                       " s: is it a rocksieve server, and not stuck?"));
    }
    if (status.ok()) return absl::UnavailableError("the server hung up without a word");
    // gRPC's word for calls that a server has not looked at when it ends.
    if (absl::IsCancelled(status)) {
      return absl::UnavailableError(
          "the server dropped the call unheard: it was just ending, or took new certificates");
    }
    if (absl::IsUnavailable(status) && status.message() != kServerEnds) {
      return ConnectError(remote.address, remote.insecure, status);
    }
    return SaidByServer(status);
  }
  const v1::Started& started = stream->greeting().started();
  if (!stream->greeting().has_started() || started.version() != kTransportVersion) {
    return absl::UnimplementedError(absl::StrCat(
        "the server speaks version ", started.version(), " of the transport, this side ",
        kTransportVersion, ": use the same version of rocksieve on both sides"));
  }
  view_.name = started.view();
  view_.resumed = started.resumed();
  view_.kept = started.kept().substr(0, kMostIdentityBytes);
  view_.database = Printable(started.database(), kMostIdentityBytes);
  for (const v1::ColumnFamily& family : started.column_families()) {
    view_.families.push_back({family.name(), family.comparator(), family.merge_operator()});
  }
  return absl::OkStatus();
}

absl::Status RemoteSession::Run(Session* session, WireCounts* counts) {
  const absl::Status status =
      Guarded([&] { return Drive(session, &call_->stream, cancellation_, limits_, counts); });
  const absl::Status ended = call_->Finish();
  // A stream that broke may have an end that says why.
  if (absl::IsUnavailable(status) && !ended.ok() && !absl::IsCancelled(ended)) return ended;
  return Printable(status);  // it may be what the server said
}

}  // namespace rocksieve::join
