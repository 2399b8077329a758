#include <rocksieve/join/join.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/strings/str_cat.h>

#include "lib/join/matching/strategy.h"
#include "lib/join/operation.h"
#include "lib/transport/address.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/remote_session.h"
#include "lib/transport/sharded_join.h"
#include "lib/transport/status.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/status.h"
#include "plugin/join_api/canceller.h"
#include "plugin/join_api/credentials.h"
#include "plugin/join_api/input_impl.h"
#include "plugin/join_api/plan_session.h"
#include "plugin/join_api/report.h"
#include "plugin/join_api/result_file.h"
#include "plugin/join_api/result_sinks.h"

namespace rocksieve::join {
namespace {

using Clock = Cancellation::Clock;

// So that a timeout of "for ever" does not run over.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);

RemoteJoinOptions RemoteOptions(Operation operation, const Peer& peer, const JoinOptions& options) {
  RemoteJoinOptions remote;
  remote.asking.operation = operation;
  remote.asking.interval = {options.begin, options.end};
  // Rows without the attribute lie in no interval.
  remote.asking.absent_rows = options.begin.empty() && !options.end;
  remote.asking.keys_per_range = options.keys_per_range;
  remote.asking.planner.most_round_trips = options.most_round_trips;
  remote.asking.most_bytes = options.most_bytes;
  remote.asking.most_row_bytes = options.most_row_bytes;
  remote.asking.ready.decode_builtin = DecodeBuiltinFilter;
  remote.memory_bytes = options.memory_bytes;
  remote.request = {peer.column_family, peer.on};
  remote.strategy = options.strategy;
  remote.limits.exchange.silence = options.silence;
  remote.most_attempts = options.attempts;
  remote.note = options.note;
  remote.keep_ranges = options.report_ranges;
  return remote;
}

absl::Status Check(const Input& input, const Peer& peer, const JoinOptions& options) {
  if (input.impl() == nullptr) {
    return absl::InvalidArgumentError("the input is empty: make it with Input::OfDatabase() first");
  }
  if (peer.addresses.empty()) {
    return absl::InvalidArgumentError("the peer has no address: add one, as in \"host:7420\"");
  }
  for (const std::string& address : peer.addresses) {
    const absl::Status status = CheckAddress(address, AddressUse::kConnect);
    if (!status.ok()) return status;
  }
  if (options.keys_per_range == 0) {
    return absl::InvalidArgumentError("a range must have at least one key: keys_per_range is 0");
  }
  if (options.most_round_trips < 1 || options.most_round_trips > 32) {
    return absl::InvalidArgumentError(
        absl::StrCat("most_round_trips is ", options.most_round_trips, ", not 1 to 32"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Remote>> RemotesOf(const Peer& peer) {
  std::vector<Remote> remotes;
  for (const std::string& address : peer.addresses) {
    absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
        ChannelCredentialsFor(address, SecurityOf(peer.credentials, peer.server_name));
    if (!credentials.ok()) return credentials.status();
    remotes.push_back({address, *std::move(credentials), peer.server_name, peer.token,
                       peer.credentials.insecure});
  }
  return remotes;
}

// Calls `work` with the servers and as many sources of the same state as it asks for, until the
// time is over or the join is cancelled.
absl::Status WithSources(
    const Input& input, const Peer& peer, const JoinOptions& options, bool each_server,
    absl::FunctionRef<absl::Status(const std::vector<Remote>& remotes, const OpenedInput& opened,
                                   Cancellation* cancellation)>
        work) {
  const auto begin = Clock::now();
  const absl::Status status = Check(input, peer, options);
  if (!status.ok()) return status;
  Cancellation cancellation(begin + std::min(options.timeout, kLongest));
  const CancellerScope scope(options.canceller ? options.canceller->impl() : nullptr,
                             &cancellation);
  const absl::StatusOr<std::vector<Remote>> remotes = RemotesOf(peer);
  if (!remotes.ok()) return remotes.status();
  const absl::StatusOr<OpenedInput> opened =
      input.impl()->OpenSources(each_server ? remotes->size() : 1, &cancellation);
  return opened.ok() ? work(*remotes, *opened, &cancellation) : opened.status();
}

absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, ResultSink* whole_rows, JoinReport* report) {
  ShardedJoinOptions sharded;
  sharded.remote = RemoteOptions(operation, peer, options);
  sharded.expect = options.keys_expected;
  if (options.range_done) {
    sharded.range_done = [&options](const std::string& address, const RangeReport& range) {
      options.range_done(SummaryOf(address, range));
    };
  }
  UnpackingResultSink sink(whole_rows, input.impl() != nullptr && input.impl()->on_attribute(),
                           IsAttribute(peer.on));
  return WithSources(input, peer, options, /*each_server=*/true,
                     [&](const auto& remotes, const auto& opened, auto* cancellation) {
                       ShardedJoinReport joined;
                       const absl::Status status = JoinShards(remotes, opened.sources, sharded,
                                                              &sink, cancellation, &joined);
                       if (report != nullptr) *report = ReportOf(joined);
                       return status;
                     });
}

absl::StatusOr<JoinPlan> PlanWith(const Remote& remote, Source* source,
                                  const RemoteJoinOptions& options,
                                  const Cancellation* cancellation) {
  MemoryAccount memory(options.memory_bytes);
  const absl::StatusOr<std::unique_ptr<RemoteSession>> session = RemoteSession::Start(
      remote, options.request, "", "", cancellation, Within(&memory, options.limits));
  if (!session.ok()) return session.status();
  AskingOptions asking = options.asking;
  asking.memory = &memory;
  asking.salt = std::random_device()();
  PlanSession plan(source, asking);
  WireCounts counts;
  const absl::Status status = (*session)->Run(&plan, &counts);
  if (!status.ok()) return status;
  JoinPlan made = plan.plan();
  made.address = remote.address;
  return made;
}

absl::Status Plan(const Input& input, const Peer& peer, const JoinOptions& options,
                  std::vector<JoinPlan>* plans) {
  const RemoteJoinOptions remote_options = RemoteOptions(Operation::kCount, peer, options);
  return WithSources(input, peer, options, /*each_server=*/false,
                     [&](const auto& remotes, const auto& opened, auto* cancellation) {
                       CancellableSource source(opened.sources.front().get(), cancellation);
                       for (const Remote& remote : remotes) {
                         absl::StatusOr<JoinPlan> plan =
                             PlanWith(remote, &source, remote_options, cancellation);
                         if (!plan.ok()) return NamingPeer(remote.address, plan.status());
                         plans->push_back(*std::move(plan));
                       }
                       return absl::OkStatus();
                     });
}

}  // namespace

rocksdb::Status Join(Operation operation, const Input& input, const Peer& peer,
                     const JoinOptions& options, const RowCallback& on_row, JoinReport* report) {
  CallbackSink sink(&on_row);
  const absl::Status status =
      Guarded([&] { return JoinTo(operation, input, peer, options, &sink, report); });
  if (!sink.status().ok()) return sink.status();
  return ToRocksDb(status);
}

rocksdb::Status JoinToFile(Operation operation, const Input& input, const Peer& peer,
                           const JoinOptions& options, const ResultFile& file, uint64_t* rows,
                           JoinReport* report) {
  if (file.format == RowFormat::kSst &&
      (EmitsLocalRows(operation) || operation == Operation::kCount)) {
    return rocksdb::Status::InvalidArgument(
        "an SST file takes rows of the other side: join with kDifference or kIntersection");
  }
  const absl::Status status = Guarded([&] {
    absl::StatusOr<std::unique_ptr<ResultFileSink>> sink =
        ResultFileSink::Open(file, operation, /*sort=*/IsAttribute(peer.on));
    if (!sink.ok()) return sink.status();
    const absl::Status joined = JoinTo(operation, input, peer, options, sink->get(), report);
    if (rows != nullptr) *rows = (*sink)->rows();
    return joined.ok() ? (*sink)->Finish() : joined;
  });
  return ToRocksDb(status);
}

rocksdb::Status JoinToSst(Operation operation, const Input& input, const Peer& peer,
                          const JoinOptions& options, const rocksdb::Options& rocksdb_options,
                          const std::string& path, uint64_t* rows, JoinReport* report) {
  ResultFile file;
  file.path = path;
  file.format = RowFormat::kSst;
  file.rocksdb_options = rocksdb_options;
  return JoinToFile(operation, input, peer, options, file, rows, report);
}

rocksdb::Status PlanJoin(const Input& input, const Peer& peer, const JoinOptions& options,
                         std::vector<JoinPlan>* plans) {
  plans->clear();
  return ToRocksDb(Guarded([&] { return Plan(input, peer, options, plans); }));
}

std::string JoinStrategies() { return StrategyNames(); }

}  // namespace rocksieve::join
