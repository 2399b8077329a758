#include <rocksieve/join/join.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>
#include <vector>

#include <absl/strings/str_cat.h>

#include "lib/join/matching/strategy.h"
#include "lib/join/operation.h"
#include "lib/transport/address.h"
#include "lib/transport/cancellable_source.h"
#include "lib/transport/guarded.h"
#include "lib/transport/remote_session.h"
#include "lib/transport/sharded_join.h"
#include "lib/transport/status.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join_api/canceller.h"
#include "plugin/join_api/credentials.h"
#include "plugin/join_api/input_impl.h"
#include "plugin/join_api/plan_session.h"
#include "plugin/join_api/report.h"
#include "plugin/join_api/result_file.h"
#include "plugin/join_api/result_sinks.h"
#include "plugin/join_api/status.h"

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
  if (options.range_done) {
    remote.asking.range_done = [done = options.range_done](const RangeReport& range) {
      done(SummaryOf("", range));
    };
  }
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

absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, ResultSink* whole_rows, JoinReport* report) {
  const auto begin = Clock::now();
  absl::Status status = Check(input, peer, options);
  if (!status.ok()) return status;
  Cancellation cancellation(begin + std::min(options.timeout, kLongest));
  const CancellerScope scope(options.canceller ? options.canceller->impl() : nullptr,
                             &cancellation);
  const absl::StatusOr<std::vector<Remote>> remotes = RemotesOf(peer);
  if (!remotes.ok()) return remotes.status();
  const absl::StatusOr<OpenedInput> opened =
      input.impl()->OpenSources(remotes->size(), &cancellation);
  if (!opened.ok()) return opened.status();
  UnpackingResultSink sink(whole_rows, input.impl()->on_attribute(), IsAttribute(peer.on));
  ShardedJoinReport joined;
  status = JoinShards(*remotes, opened->sources,
                      {RemoteOptions(operation, peer, options), options.keys_expected}, &sink,
                      &cancellation, &joined);
  if (report != nullptr) *report = ReportOf(joined);
  return status;
}

absl::Status Plan(const Input& input, const Peer& peer, const JoinOptions& options,
                  std::vector<JoinPlan>* plans) {
  const auto begin = Clock::now();
  const absl::Status status = Check(input, peer, options);
  if (!status.ok()) return status;
  Cancellation cancellation(begin + std::min(options.timeout, kLongest));
  const CancellerScope scope(options.canceller ? options.canceller->impl() : nullptr,
                             &cancellation);
  const absl::StatusOr<std::vector<Remote>> remotes = RemotesOf(peer);
  if (!remotes.ok()) return remotes.status();
  const absl::StatusOr<OpenedInput> opened = input.impl()->OpenSources(1, &cancellation);
  if (!opened.ok()) return opened.status();
  CancellableSource source(opened->sources.front().get(), &cancellation);
  const RemoteJoinOptions remote_options = RemoteOptions(Operation::kCount, peer, options);
  for (const Remote& remote : *remotes) {
    const absl::StatusOr<std::unique_ptr<RemoteSession>> session = RemoteSession::Start(
        remote, remote_options.request, "", "", &cancellation, remote_options.limits);
    if (!session.ok()) return NamingPeer(remote.address, session.status());
    PlanSession plan(&source, std::random_device()(), options.keys_per_range);
    WireCounts counts;
    const absl::Status ended = (*session)->Run(&plan, &counts);
    if (!ended.ok()) return NamingPeer(remote.address, ended);
    plans->push_back(plan.plan());
    plans->back().address = remote.address;
  }
  return absl::OkStatus();
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
