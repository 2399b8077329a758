// SPDX-License-Identifier: Apache-2.0
#include "lib/transport/client.h"

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include "lib/join/matching/planner.h"
#include "lib/join/memory_account.h"
#include "lib/join/rows/source.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr std::chrono::milliseconds kLongestPause(10'000);

absl::Status AfterAttempts(int attempts, const absl::Status& status) {
  if (attempts == 1) return status;
  return {status.code(), absl::StrCat(status.message(), " (after ", attempts, " attempts)")};
}

// Says that an error is of the rows here, or of where the result goes, and not of the server's.
absl::Status OnThisSide(const absl::Status& status) { return NamingPeer("on this side", status); }

// Ends work at the deadline that is done for one message, however long it takes.
class CancellableSink final : public Sink {
 public:
  CancellableSink(Sink* sink, const Cancellation* cancellation)
      : sink_(sink), cancellation_(cancellation) {}
  absl::Status Add(const Row& row, Side from) override {
    const absl::Status cancelled = cancellation_->Check();
    return cancelled.ok() ? OnThisSide(sink_->Add(row, from)) : cancelled;
  }
  absl::Status Commit() override { return OnThisSide(sink_->Commit()); }
  absl::Status Discard() override { return OnThisSide(sink_->Discard()); }

 private:
  Sink* const sink_;
  const Cancellation* const cancellation_;
};

class RemoteJoin {
 public:
  RemoteJoin(const Remote& remote, Source* source, ResultSink* sink,
             const RemoteJoinOptions& options, const Cancellation* cancellation,
             RemoteJoinReport* report)
      : remote_(remote),
        source_(source, cancellation, OnThisSide),
        sink_(sink),
        options_(options),
        cancellation_(cancellation),
        report_(report),
        rest_(options.client.interval),
        shared_(options.client.shared) {}

  absl::Status Run() {
    int failures = 0;  // since something was finished
    for (;;) {
      const KeyInterval before = *rest_;
      const absl::Status status = Attempt();
      if (status.ok()) return status;
      RETURN_IF_ERROR(OnThisSide(sink_->Discard()));
      if (!rest_) return status;
      if (*rest_ != before) failures = 0;
      if (!IsWorthRetrying(status)) return Located(status);
      if (++failures >= options_.most_attempts) return Located(AfterAttempts(failures, status));
      RETURN_IF_ERROR(Pause(status, failures));
    }
  }

 private:
  bool IsWorthRetrying(const absl::Status& status) const {
    const bool busy = absl::IsResourceExhausted(status) && !started_;
    // The server heard nothing for too long, or the session had its time: it is there still.
    const bool late = absl::IsDeadlineExceeded(status) && server_failed_;
    return busy || late || absl::IsUnavailable(status) ||
           // How a connection's end looks when it comes at the wrong moment.
           (absl::IsInternal(status) && absl::StrContains(status.message(), "RST_STREAM"));
  }

  // With the range that was not finished, once one was begun.
  absl::Status Located(const absl::Status& status) const {
    return report_->ranges == 0 ? status : Naming(*rest_, status);
  }

  absl::Status Attempt() {
    report_->attempts++;
    server_failed_ = false;
    const std::string asked_for = view_;
    MemoryAccount memory(options_.memory_bytes);
    const DriveLimits limits = Within(&memory, options_.limits);
    ClientSessionOptions client_options = OptionsWithin(limits, &memory);
    ASSIGN_OR_RETURN(client_options.planner.strategy, StrategyNamed(options_.strategy));
    CancellableSink sink(sink_, cancellation_);
    std::optional<ClientSession> session;
    std::string hello;
    // Before the answer to the greeting, which saves a round trip, unless a session begins by it.
    if (asked_for.empty() && shared_ == nullptr) {
      session.emplace(&source_, &sink, client_options);
      ASSIGN_OR_RETURN(hello, session->Next());
    }
    absl::StatusOr<std::unique_ptr<RemoteSession>> remote = RemoteSession::Start(
        remote_, options_.request, {view_, options_.strategy, options_.describe}, cancellation_,
        limits, hello);
    started_ = remote.ok();
    if (!remote.ok()) return remote.status();
    view_ = (*remote)->view().name;
    report_->database = (*remote)->view().database;
    report_->column_families = (*remote)->view().families;
    report_->kept = (*remote)->view().kept;
    const bool resumed = !asked_for.empty() && (*remote)->view().resumed;
    report_->resumed += resumed;
    if (!asked_for.empty() && !resumed) {
      RETURN_IF_ERROR(Restart());
    }
    if (!session) {
      client_options.interval = *rest_;
      // What sessions share they share from the start: one that was broken is on its own.
      client_options.shared = std::exchange(shared_, nullptr);
      if (client_options.shared != nullptr) client_options.salt = client_options.shared->salt();
      session.emplace(&source_, &sink, client_options);
    }
    WireCounts counts;
    const absl::Status status = (*remote)->Run(&*session, &counts);
    if (client_options.shared != nullptr) client_options.shared->Leave();
    report_->wire_bytes_sent += counts.bytes_sent;
    report_->wire_bytes_received += counts.bytes_received;
    AddStatistics(session->statistics(), report_);
    rest_ = session->Uncommitted();
    server_failed_ = session->other_side_failed();
    // All is proven and with the sink; how the stream ended does not matter any more.
    return rest_ ? status : absl::OkStatus();
  }

  ClientSessionOptions OptionsWithin(const DriveLimits& limits, MemoryAccount* memory) {
    ClientSessionOptions options = options_.client;
    options.memory = memory;
    options.most_message_bytes = limits.most_message_bytes;
    options.existing.most_bytes = std::min(options.existing.most_bytes, options_.memory_bytes / 4);
    // What waits for a proof never fills a disk.
    options.most_unproven_bytes = std::min(options.most_unproven_bytes, FreeBytes("") / 2);
    options.interval = *rest_;
    options.salt = RandomSalt();
    options.range_done = [this](const RangeReport& range) {
      if (!options_.keep_ranges && !options_.range_done) return;
      RangeSummary summary = range;
      summary.address = remote_.address;
      if (options_.range_done) options_.range_done(summary);
      if (options_.keep_ranges) report_->range_reports.push_back(std::move(summary));
    };
    return options;
  }

  // What was finished was true of another state of the server's data.
  absl::Status Restart() {
    if (*rest_ == options_.client.interval) return absl::OkStatus();
    report_->restarted++;
    rest_ = options_.client.interval;
    report_->range_reports.clear();
    report_->keys_pruned = report_->false_positives = 0;
    report_->shipped_keys_bytes = report_->textbook_bloom_join_bytes = 0;
    report_->matched_keys = report_->local_only_keys = report_->remote_only_keys = 0;
    report_->rows_received = report_->local_absent_rows = report_->remote_absent_rows = 0;
    const absl::Status status = sink_->Restart();
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        absl::StrCat("the stream broke and the server has no longer the state of "
                                     "its data that the first results came from; ",
                                     status.message()));
  }

  absl::Status Pause(const absl::Status& why, int failures) {
    std::chrono::milliseconds pause =
        std::min(kLongestPause, options_.first_pause * (1 << std::min(failures - 1, 10)));
    // Many that failed together shall not come back together.
    pause = pause * (75 + std::random_device()() % 50) / 100;
    if (options_.note) {
      options_.note(absl::StrCat(remote_.address, ": ", why.message(), "; trying again in ",
                                 pause.count() / 1000.0, " s"));
    }
    SleepUntil(std::min(Cancellation::Clock::now() + pause, cancellation_->deadline()),
               cancellation_->token());
    const absl::Status cancelled = cancellation_->Check();
    return absl::IsDeadlineExceeded(cancelled) ? why : cancelled;  // says more
  }

  const Remote& remote_;
  CancellableSource source_;
  ResultSink* const sink_;
  const RemoteJoinOptions& options_;
  const Cancellation* const cancellation_;
  RemoteJoinReport* const report_;
  std::optional<KeyInterval> rest_;
  SharedRanges::Member* shared_;  // until a session has begun
  std::string view_;              // of the last session
  bool started_ = false;          // the last attempt's session
  bool server_failed_ = false;
};

}  // namespace

uint64_t RandomSalt() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

absl::Status JoinRemotely(const Remote& remote, Source* source, ResultSink* sink,
                          const RemoteJoinOptions& options, const Cancellation* cancellation,
                          RemoteJoinReport* report) {
  return NamingPeer(remote.address,
                    RemoteJoin(remote, source, sink, options, cancellation, report).Run());
}

}  // namespace rocksieve::join
