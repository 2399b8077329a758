#include <rocksieve/join/join.h>

#include <chrono>
#include <utility>

#include <absl/strings/str_cat.h>

#include "join/operation.h"
#include "join_api/canceller.h"
#include "join_api/credentials.h"
#include "join_api/input_impl.h"
#include "join_api/result_sinks.h"
#include "join_api/status.h"
#include "transport/remote_join.h"

namespace rocksieve::join {
namespace {

using Clock = Cancellation::Clock;

// So that a timeout of "for ever" does not run over.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);

WireBytes BytesOf(const Traffic& traffic) {
  return {traffic.planning, traffic.filters, traffic.verification, traffic.payload};
}

void Report(const RemoteJoinReport& remote, JoinReport* report) {
  const Statistics& statistics = remote.statistics;
  report->matched_keys = statistics.matched_keys;
  report->local_only_keys = statistics.keys_of_asking_side_only;
  report->remote_only_keys = statistics.keys_of_answering_side_only;
  report->absent_rows_local = statistics.absent_rows_of_asking_side;
  report->absent_rows_remote = statistics.absent_rows_of_answering_side;
  report->rows_received = statistics.rows_received;
  report->ranges = statistics.ranges;
  report->equal_ranges = statistics.equal_ranges;
  report->repeated_ranges = statistics.repeated_ranges;
  report->sent = BytesOf(statistics.sent);
  report->received = BytesOf(statistics.received);
  report->wire_bytes_sent = remote.wire.bytes_sent;
  report->wire_bytes_received = remote.wire.bytes_received;
  report->attempts = remote.attempts;
}

RemoteJoinOptions RemoteOptions(Operation operation, const Peer& peer, const JoinOptions& options) {
  RemoteJoinOptions remote;
  remote.asking.operation = operation;
  remote.asking.interval = {options.begin, options.end};
  // Rows without the attribute lie in no interval.
  remote.asking.absent_rows = options.begin.empty() && !options.end;
  remote.asking.keys_per_range = options.keys_per_range;
  remote.request = {peer.column_family, peer.on};
  remote.strategy = options.strategy;
  remote.limits.exchange.silence = options.silence;
  remote.most_attempts = options.attempts;
  remote.note = options.note;
  return remote;
}

absl::Status Check(const Input& input, const Peer& peer, const JoinOptions& options) {
  if (input.impl() == nullptr) {
    return absl::InvalidArgumentError("the input is empty: make it with Input::OfDatabase() first");
  }
  if (peer.addresses.empty()) {
    return absl::InvalidArgumentError("the peer has no address: add one, as in \"host:7420\"");
  }
  if (peer.addresses.size() > 1) {
    return absl::UnimplementedError(
        "shards can be joined by `rocksieve join` only: give the peer one address");
  }
  if (options.keys_per_range == 0) {
    return absl::InvalidArgumentError("a range must have at least one key: keys_per_range is 0");
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
  absl::StatusOr<std::unique_ptr<Source>> source = input.impl()->OpenSource(&cancellation);
  if (!source.ok()) return source.status();
  UnpackingResultSink sink(whole_rows, input.impl()->on_attribute(), IsAttribute(peer.on));
  const std::string& address = peer.addresses.front();
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      ChannelCredentialsFor(address, SecurityOf(peer.credentials, peer.server_name));
  if (!credentials.ok()) return credentials.status();
  RemoteJoinReport remote;
  status = JoinRemotely({address, *credentials, peer.server_name, peer.token}, source->get(), &sink,
                        RemoteOptions(operation, peer, options), &cancellation, &remote);
  if (report != nullptr) {
    *report = JoinReport();
    Report(remote, report);
    report->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return status;
}

}  // namespace

rocksdb::Status Join(Operation operation, const Input& input, const Peer& peer,
                     const JoinOptions& options, const RowCallback& on_row, JoinReport* report) {
  CallbackSink sink(&on_row);
  const absl::Status status = JoinTo(operation, input, peer, options, &sink, report);
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
  absl::Status status = JoinTo(operation, input, peer, options, sink->get(), report);
  if (status.ok()) status = (*sink)->Finish();
  if (status.ok() && rows != nullptr) *rows = (*sink)->rows();
  return ToRocksDb(status);
}

}  // namespace rocksieve::join
