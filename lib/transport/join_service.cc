#include "transport/join_service.h"

#include <atomic>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join.grpc.pb.h"
#include "transport/alarm.h"
#include "transport/cancellable_source.h"
#include "transport/grpc_channel.h"
#include "transport/guarded.h"
#include "transport/peer_places.h"
#include "transport/status.h"
#include "transport/strategy.h"
#include "transport/token.h"

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status CheckToken(const grpc::ServerContext& context,
                        const std::vector<std::string>& tokens) {
  if (tokens.empty()) return absl::OkStatus();
  const auto found = context.client_metadata().find(kTokenMetadata);
  if (found != context.client_metadata().end()) {
    std::string_view given(found->second.data(), found->second.size());
    const std::string_view scheme(kTokenScheme);
    if (given.substr(0, scheme.size()) == scheme && IsToken(given.substr(scheme.size()), tokens)) {
      return absl::OkStatus();
    }
  }
  return absl::UnauthenticatedError(
      "the server wants a token that it knows: join with --token-file");
}

// Why there are no rows to read. Codes of the connection, and that which means "come again", would
// make the asking side try what cannot succeed.
absl::Status NoView(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kResourceExhausted:
      return absl::FailedPreconditionError(status.message());
    default:
      return status;
  }
}

class JoinService final : public v1::Join::Service {
 public:
  JoinService(OpenView open, JoinServiceOptions options)
      : options_(std::move(options)),
        views_(std::move(open), options_.views),
        places_(options_.most_sessions_per_peer) {}

  grpc::Status Session(grpc::ServerContext* context, ServerStream* stream) override {
    const Clock::time_point begin = Clock::now();
    SessionReport report;
    report.status = Guarded([&] {
      report.peer = context->peer();
      return Admit(context, stream, &report.counts);
    });
    report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (options_.report) {
      Guarded([&] { return options_.report(report), absl::OkStatus(); }).IgnoreError();
    }
    return ToGrpc(report.status);
  }

 private:
  // One of the server's places, given back however the session ends.
  class Place {
   public:
    // One is added before it is looked at, so that two cannot take the last place.
    explicit Place(std::atomic<size_t>* taken) : taken_(taken), number_(taken->fetch_add(1)) {}
    ~Place() { taken_->fetch_sub(1); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    size_t number() const { return number_; }

   private:
    std::atomic<size_t>* const taken_;
    const size_t number_;
  };

  absl::Status Admit(grpc::ServerContext* context, ServerStream* stream, WireCounts* counts) {
    const Place place(&sessions_);
    if (place.number() >= options_.most_sessions) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the server is busy with ", options_.most_sessions,
                       " sessions: try again, or let it serve more with --sessions"));
    }
    const auto of_peer = places_.Take(PeerOf(*context));
    if (of_peer == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this peer has ", options_.most_sessions_per_peer,
                       " sessions: try again, or let it have more with --sessions-per-peer"));
    }
    const absl::Status status = CheckToken(*context, options_.tokens);
    return status.ok() ? Serve(context, stream, counts) : status;
  }

  absl::Status Serve(grpc::ServerContext* context, ServerStream* stream, WireCounts* counts) {
    v1::Frame frame;
    {
      Alarm alarm(options_.first_frame_time, nullptr, [context] { context->TryCancel(); });
      if (!stream->Read(&frame)) {
        return absl::CancelledError("the asking side went away before it had asked");
      }
    }
    const v1::Start& start = frame.start();
    if (!frame.has_start() || start.version() != kTransportVersion) {
      return absl::UnimplementedError(absl::StrCat(
          "the asking side speaks version ", start.version(), " of the transport, the server ",
          kTransportVersion, ": use the same version of rocksieve on both sides"));
    }
    AnsweringOptions answering = options_.answering;
    answering.most_message_bytes = options_.limits.most_message_bytes;
    const absl::Status forced = ForceStrategy(start.strategy(), &answering.planner);
    if (!forced.ok()) return forced;

    Cancellation cancellation(Clock::now() + options_.session_time);
    const absl::StatusOr<std::unique_ptr<ViewRegistry::Lease>> lease =
        views_.Acquire({start.column_family(), start.on()}, start.view(), &cancellation);
    if (!lease.ok()) return NoView(lease.status());
    v1::Started* const started = frame.mutable_started();
    started->set_version(kTransportVersion);
    started->set_view((*lease)->name());
    started->set_resumed((*lease)->resumed());
    started->set_database((*lease)->database());
    if (!stream->Write(frame)) return absl::CancelledError("the asking side went away");

    CancellableSource source((*lease)->source(), &cancellation);
    AnsweringSide session(&source, answering);
    GrpcChannel channel(stream, context);
    const absl::Status status = Drive(&session, &channel, &cancellation, options_.limits, counts);
    if (status.ok()) (*lease)->Finished();
    return status;
  }

  const JoinServiceOptions options_;
  ViewRegistry views_;
  PeerPlaces places_;
  std::atomic<size_t> sessions_ = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeJoinService(OpenView open, JoinServiceOptions options) {
  return std::make_unique<JoinService>(std::move(open), std::move(options));
}

}  // namespace rocksieve::join
