// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_turns.h"
#include "lib/transport/server.h"
#include "lib/transport/view_registry.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include "join.grpc.pb.h"
#include "lib/join/matching/planner.h"
#include "lib/transport/admission.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/credentials.h"
#include "lib/transport/session_stream.h"
#include "lib/transport/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kPartOfViews = 8;     // of the memory: one in so many bytes
constexpr size_t kMostNameBytes = 256;   // of a certificate, for messages
constexpr std::chrono::milliseconds kLastFrame(100);  // that is on its way when a session ends
constexpr size_t kMostSilentCalls = 32;  // the one that has waited longest is ended

absl::Status CheckToken(const grpc::ServerContextBase& context,
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
// make the client try what cannot succeed.
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

void Describe(const std::vector<ColumnFamilyDescription>& families, v1::Started* started) {
  for (const ColumnFamilyDescription& family : families) {
    v1::ColumnFamily* const described = started->add_column_families();
    described->set_name(family.name);
    described->set_comparator(family.comparator);
    described->set_merge_operator(family.merge_operator);
  }
}

// "resource_exhausted"
std::string NameOf(absl::StatusCode code) {
  return absl::AsciiStrToLower(absl::StatusCodeToString(code));
}

absl::Status ServerEnds() { return absl::UnavailableError(kServerEnds); }

// Calls whose callers have not said anything yet. They cost no thread, are few, and end after a
// while: whoever means to join speaks at once. Thread-safe.
class WaitingCalls {
 public:
  explicit WaitingCalls(std::chrono::milliseconds patience)
      : patience_(patience),
        thread_([this](const std::stop_token& end) { EndLate(end); }) {}
  // Ends them all.
  ~WaitingCalls() {
    thread_.request_stop();
    thread_.join();
    std::list<Call> left;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      left.swap(calls_);
    }
    Refuse(left, "the server ends");
  }

  void Add(std::shared_ptr<SessionStream> stream) {
    std::list<Call> added, oldest;
    added.push_back({std::move(stream), Clock::now() + patience_});
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      calls_.splice(calls_.end(), added);
      if (calls_.size() > kMostSilentCalls) oldest.splice(oldest.end(), calls_, calls_.begin());
    }
    changed_.notify_all();
    Refuse(oldest, "too many calls that say nothing: begin with a frame");
  }

  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return calls_.size();
  }

  // It has spoken, or has ended.
  void Remove(const SessionStream* stream) {
    std::list<Call> removed;  // destroyed after the lock
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::find_if(calls_.begin(), calls_.end(), [stream](const Call& call) {
      return call.stream.get() == stream;
    });
    if (found != calls_.end()) removed.splice(removed.end(), calls_, found);
  }

 private:
  struct Call {
    std::shared_ptr<SessionStream> stream;
    Clock::time_point until;
  };

  static void Refuse(const std::list<Call>& calls, const char* why) {
    for (const Call& call : calls) {
      call.stream->End(grpc::Status(grpc::StatusCode::DEADLINE_EXCEEDED, why));
    }
  }

  void EndLate(const std::stop_token& end) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!end.stop_requested()) {
      if (!calls_.empty() && calls_.front().until <= Clock::now()) {
        std::list<Call> late;
        late.splice(late.end(), calls_, calls_.begin());
        lock.unlock();
        Refuse(late, "no first frame in time");
        late.clear();
        lock.lock();
      } else {
        const auto next =
            calls_.empty() ? Clock::now() + std::chrono::hours(1) : calls_.front().until;
        WaitForChange(&changed_, &lock, next, end);
      }
    }
  }

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::list<Call> calls_;  // the oldest first
  std::jthread thread_;    // the last one: it uses the others
};

// A session, from its first frame on.
struct Admitted {
  std::shared_ptr<SessionStream> stream;
  std::unique_ptr<PeerPlaces::Place> place;
  std::unique_ptr<MemoryShares::Share> share;
  Clock::time_point begin = Clock::now();
  SessionReport report;
};

class JoinServiceImpl final : public GrpcJoinService, public v1::Join::CallbackService {
 public:
  JoinServiceImpl(OpenView open, JoinServiceOptions options)
      : options_(std::move(options)),
        views_(std::move(open), options_.views),
        places_(options_.most_sessions_per_peer),
        shares_(options_.memory_bytes - options_.memory_bytes / kPartOfViews,
                options_.most_sessions),
        tokens_(options_.tokens),
        workers_(options_.threads > 1 ? std::make_unique<Workers>(options_.threads) : nullptr),
        waiting_(options_.first_frame_time) {}
  ~JoinServiceImpl() override {
    std::unique_lock<std::mutex> lock(mutex_);
    over_.wait(lock, [this] { return threads_ == 0; });
  }

  grpc::Service* service() override { return this; }
  void SetTokens(std::vector<std::string> tokens) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    tokens_ = std::move(tokens);
  }
  ServerCounters counters() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ServerCounters counters = counters_;
    counters.sessions = streams_.size();
    counters.silent_calls = waiting_.size();
    return counters;
  }
  void EndSessions(std::chrono::milliseconds grace) override {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_ = true;
    cut_off_ = std::min(cut_off_, Clock::now() + grace);
    over_.notify_all();
    while (!streams_.empty() && Clock::now() < cut_off_) over_.wait_until(lock, cut_off_);
    for (SessionStream* stream : streams_) stream->cancellation()->Cancel(ServerEnds());
  }

  grpc::ServerBidiReactor<v1::Frame, v1::Frame>* Session(
      grpc::CallbackServerContext* context) override {
    auto stream = std::make_shared<SessionStream>(
        context, Clock::now() + options_.session_time,
        [this](std::shared_ptr<SessionStream> spoken) { Admit(std::move(spoken)); });
    waiting_.Add(stream);
    stream->Open();
    return stream.get();
  }

 private:
  // By a thread of gRPC's: looks, and leaves the work to a thread of its own.
  void Admit(std::shared_ptr<SessionStream> stream) {
    waiting_.Remove(stream.get());
    auto admitted = std::make_shared<Admitted>();
    admitted->stream = stream;
    admitted->report.status = Guarded([&] {
      admitted->report.peer = stream->context()->peer();
      admitted->report.certificate_name = CertificateNameOf(*stream->context());
      return TakePlaces(admitted.get());
    });
    if (admitted->report.status.ok()) {
      const absl::Status started = Guarded([&] { return StartThread(admitted); });
      if (started.ok()) return;  // all is the thread's now
      admitted->report.admitted = false;
      admitted->report.status = started;
      GiveBack(admitted.get());
    }
    End(admitted.get());
  }

  absl::Status TakePlaces(Admitted* admitted) {
    SessionStream* const stream = admitted->stream.get();
    auto place = places_.Take(PeerOf(*stream->context()));
    const std::lock_guard<std::mutex> lock(mutex_);
    RETURN_IF_ERROR(CheckToken(*stream->context(), tokens_));
    admitted->place = std::move(place);
    if (ended_) return ServerEnds();
    if (streams_.size() >= shares_.most_sessions()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the server is busy with ", streams_.size(),
                       " sessions: try again, or let it serve more with --sessions and --memory"));
    }
    if (admitted->place == nullptr) {
      return absl::ResourceExhaustedError(
          absl::StrCat("this peer has ", options_.most_sessions_per_peer,
                       " sessions: try again, or let it have more with --sessions-per-peer"));
    }
    admitted->share = shares_.Take();  // there is one for as many streams
    streams_.insert(stream);
    admitted->report.admitted = true;
    return absl::OkStatus();
  }

  absl::Status StartThread(const std::shared_ptr<Admitted>& admitted) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::thread([this, mine = admitted]() mutable { Run(std::move(mine)); }).detach();
    threads_++;
    return absl::OkStatus();
  }

  void Run(std::shared_ptr<Admitted> admitted) {
    SessionReport* const report = &admitted->report;
    report->status =
        Guarded([&] { return Serve(admitted->stream.get(), admitted->share->bytes(), report); });
    GiveBack(admitted.get());
    End(admitted.get());
    admitted.reset();
    // Under the lock: the service may be gone as soon as it is given back.
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_--;
    over_.notify_all();
  }

  // Before the caller hears of the end: he may come again at once.
  void GiveBack(Admitted* admitted) {
    admitted->place.reset();
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(admitted->stream.get());
    admitted->share.reset();
    over_.notify_all();
  }

  void End(Admitted* admitted) {
    SessionReport* const report = &admitted->report;
    report->seconds = std::chrono::duration<double>(Clock::now() - admitted->begin).count();
    const absl::Status told = report->status == ServerEnds()
                                  ? report->status
                                  : WithoutDirectories(report->status, options_.directories);
    report->peer = Printable(report->peer);
    report->certificate_name = Printable(report->certificate_name, kMostNameBytes);
    report->status = Printable(report->status);
    Count(*report);
    if (options_.report) {
      Guarded([&] { return options_.report(*report), absl::OkStatus(); }).IgnoreError();
    }
    admitted->stream->End(ToGrpc(told));
  }

  absl::Status Serve(SessionStream* stream, uint64_t share_bytes, SessionReport* report) {
    const v1::Start start = stream->first().start();
    if (!stream->first().has_start() || start.version() != kTransportVersion) {
      return absl::UnimplementedError(absl::StrCat(
          "the client speaks version ", start.version(), " of the transport, the server ",
          kTransportVersion, ": use the same version of rocksieve on both sides"));
    }
    MemoryAccount memory(share_bytes);
    ServerSessionOptions server_options = options_.server;
    server_options.workers = workers_.get();
    DriveLimits limits = options_.limits;
    ViewTerms terms;
    SetLimits(&memory, &server_options, &limits, &terms);
    terms.kept_memory_bytes =
        options_.memory_bytes / kPartOfViews / (shares_.most_sessions() + options_.views.most_kept);
    ASSIGN_OR_RETURN(server_options.planner.strategy, StrategyNamed(start.strategy()));

    Cancellation* const cancellation = stream->cancellation();
    const absl::StatusOr<std::unique_ptr<ViewRegistry::Lease>> lease =
        views_.Acquire({start.column_family(), start.on(), start.keep(), start.since()},
                       start.view(), cancellation, terms);
    if (!lease.ok()) {
      const absl::Status cancelled = cancellation->Check();
      return cancelled.ok() ? NoView(lease.status()) : cancelled;
    }
    v1::Started started;
    started.set_version(kTransportVersion);
    started.set_view((*lease)->name());
    started.set_resumed((*lease)->resumed());
    started.set_database((*lease)->view().database);
    started.set_kept((*lease)->view().kept);
    if (start.describe()) Describe((*lease)->view().families, &started);
    stream->Answer(started);

    // The server's own report has the whole error, the client no directories of ours.
    std::mutex mutex;
    absl::Status whole;
    CancellableSource source((*lease)->view().source.get(), cancellation,
                             [&](const absl::Status& error) {
                               const std::lock_guard<std::mutex> lock(mutex);
                               whole = error;
                               return WithoutDirectories(error, options_.directories);
                             });
    ServerSession session(&source, server_options);
    const absl::Status status = Drive(&session, stream, cancellation, limits, &report->counts);
    report->operation = session.operation();
    report->rows_sent = session.rows_sent();
    if (status.ok()) (*lease)->Finished();
    const std::lock_guard<std::mutex> lock(mutex);  // a worker of the session may still scan
    return status.ok() || whole.ok() ? status : whole;
  }

  void Count(const SessionReport& report) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!report.admitted) {
      counters_.refused[NameOf(report.status.code())]++;
      return;
    }
    if (report.status.ok()) {
      counters_.done++;
    } else {
      counters_.failed[NameOf(report.status.code())]++;
    }
    counters_.bytes_received += report.counts.bytes_received;
    counters_.bytes_sent += report.counts.bytes_sent;
    counters_.rows_sent += report.rows_sent;
    counters_.session_seconds += report.seconds;
  }

  const JoinServiceOptions options_;
  ViewRegistry views_;
  PeerPlaces places_;
  MemoryShares shares_;
  mutable std::mutex mutex_;
  std::condition_variable over_;
  std::vector<std::string> tokens_;
  ServerCounters counters_;           // without what is of now
  std::set<SessionStream*> streams_;  // of sessions under way
  size_t threads_ = 0;
  const std::unique_ptr<Workers> workers_;                // null: sessions compute for themselves
  bool ended_ = false;                                    // no session is admitted any more
  Clock::time_point cut_off_ = Clock::time_point::max();  // of those under way, once it has ended
  WaitingCalls waiting_;                                  // the last one: its calls come here
};

}  // namespace

void SessionStream::Open() {
  self_ = shared_from_this();
  StartRead(&in_);
}

void SessionStream::OnReadDone(bool ok) {
  if (std::exchange(greeted_, true)) return OnRead(ok, TakePiece());
  const std::shared_ptr<SessionStream> self = self_;
  if (ended_) return;
  if (ok) {
    on_first_(self);
  } else {
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away before it had asked"));
  }
}

void SessionStream::OnCancel() {
  cancellation_.Cancel(absl::UnavailableError("the stream broke before the join was done"));
}

void SessionStream::Answer(const v1::Started& started) {
  *out_.mutable_started() = started;
  Send("");
}

bool SessionStream::End(const grpc::Status& status) {
  if (ended_.exchange(true)) return false;
  // The status would wait behind a frame that the other side may never take.
  if (!Stop(Cancellation::Clock::now() + kLastFrame)) {
    context_->TryCancel();
    Stop(Cancellation::Clock::time_point::max());
  }
  Finish(status);
  return true;
}

std::unique_ptr<GrpcJoinService> MakeGrpcJoinService(OpenView open, JoinServiceOptions options) {
  return std::make_unique<JoinServiceImpl>(std::move(open), std::move(options));
}

}  // namespace rocksieve::join
