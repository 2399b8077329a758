#include <rocksieve/join/join.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <absl/strings/str_cat.h>

#include "join/operation.h"
#include "join/range_report.h"
#include "join_api/canceller.h"
#include "join_api/credentials.h"
#include "join_api/input_impl.h"
#include "join_api/result_sinks.h"
#include "join_api/status.h"
#include "transport/address.h"
#include "transport/guarded.h"
#include "transport/sharded_join.h"

namespace rocksieve::join {
namespace {

using Clock = Cancellation::Clock;

// So that a timeout of "for ever" does not run over.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);

WireBytes BytesOf(const Traffic& traffic) {
  return {traffic.planning, traffic.filters, traffic.verification, traffic.payload};
}

RangeSummary RangeOf(const std::string& address, const RangeReport& range) {
  RangeSummary summary;
  summary.address = address;
  summary.begin = range.interval.begin;
  summary.end = range.interval.end;
  summary.moves = MovesOf(range);
  summary.local_keys = range.keys_of_asking_side;
  summary.remote_keys = range.keys_of_answering_side;
  summary.matched_keys = range.matched_keys;
  summary.rows_received = range.rows_received;
  summary.repeats = range.repeats;
  summary.sent = BytesOf(range.sent);
  summary.received = BytesOf(range.received);
  summary.round_trips = range.round_trips;
  summary.seconds = range.milliseconds / 1000;
  return summary;
}

void Report(const ShardedJoinReport& joined, JoinReport* report) {
  *report = JoinReport();
  report->keys_are_known = joined.keys_are_known;
  report->matched_keys = joined.matched_keys;
  report->local_only_keys = joined.local_only_keys;
  report->remote_only_keys = joined.remote_only_keys;
  report->seconds = joined.seconds;
  Statistics sum;
  for (const ShardReport& shard : joined.shards) {
    AddStatistics(shard.report.statistics, &sum);
    report->wire_bytes_sent += shard.report.wire.bytes_sent;
    report->wire_bytes_received += shard.report.wire.bytes_received;
    report->attempts += shard.report.attempts;
    for (const RangeReport& range : shard.report.ranges) {
      report->range_reports.push_back(RangeOf(shard.address, range));
    }
  }
  report->absent_rows_local = sum.absent_rows_of_asking_side;
  report->absent_rows_remote = sum.absent_rows_of_answering_side;
  report->rows_received = sum.rows_received;
  report->ranges = sum.ranges;
  report->equal_ranges = sum.equal_ranges;
  report->repeated_ranges = sum.repeated_ranges;
  report->sent = BytesOf(sum.sent);
  report->received = BytesOf(sum.received);
}

RemoteJoinOptions RemoteOptions(Operation operation, const Peer& peer, const JoinOptions& options) {
  RemoteJoinOptions remote;
  remote.asking.operation = operation;
  remote.asking.interval = {options.begin, options.end};
  // Rows without the attribute lie in no interval.
  remote.asking.absent_rows = options.begin.empty() && !options.end;
  remote.asking.keys_per_range = options.keys_per_range;
  remote.asking.planner.most_round_trips = options.most_round_trips;
  remote.asking.most_bytes = options.most_bytes;
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

absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, ResultSink* whole_rows, JoinReport* report) {
  const auto begin = Clock::now();
  absl::Status status = Check(input, peer, options);
  if (!status.ok()) return status;
  Cancellation cancellation(begin + std::min(options.timeout, kLongest));
  const CancellerScope scope(options.canceller ? options.canceller->impl() : nullptr,
                             &cancellation);
  std::vector<Remote> remotes;
  for (const std::string& address : peer.addresses) {
    absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
        ChannelCredentialsFor(address, SecurityOf(peer.credentials, peer.server_name));
    if (!credentials.ok()) return credentials.status();
    remotes.push_back({address, *std::move(credentials), peer.server_name, peer.token,
                       peer.credentials.insecure});
  }
  const absl::StatusOr<OpenedInput> opened =
      input.impl()->OpenSources(remotes.size(), &cancellation);
  if (!opened.ok()) return opened.status();
  UnpackingResultSink sink(whole_rows, input.impl()->on_attribute(), IsAttribute(peer.on));
  ShardedJoinReport joined;
  status = JoinShards(remotes, opened->sources, {RemoteOptions(operation, peer, options), nullptr},
                      &sink, &cancellation, &joined);
  if (report != nullptr) Report(joined, report);
  return status;
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

rocksdb::Status JoinToSst(Operation operation, const Input& input, const Peer& peer,
                          const JoinOptions& options, const rocksdb::Options& rocksdb_options,
                          const std::string& path, uint64_t* rows, JoinReport* report) {
  if (EmitsLocalRows(operation) || operation == Operation::kCount) {
    return rocksdb::Status::InvalidArgument(
        "an SST file takes rows of the other side: join with kDifference or kIntersection");
  }
  SstSinkOptions sst;
  sst.rocksdb = rocksdb_options;
  sst.sort = IsAttribute(peer.on);
  absl::StatusOr<std::unique_ptr<SstResultSink>> sink = SstResultSink::Open(path, sst);
  if (!sink.ok()) return ToRocksDb(sink.status());
  const absl::Status status = Guarded([&] {
    const absl::Status joined = JoinTo(operation, input, peer, options, sink->get(), report);
    return joined.ok() ? (*sink)->Finish() : joined;
  });
  if (status.ok() && rows != nullptr) *rows = (*sink)->rows();
  return ToRocksDb(status);
}

}  // namespace rocksieve::join
