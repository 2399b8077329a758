// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/join.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/strings/str_cat.h>

#include "lib/join/matching/strategy.h"
#include "lib/join/operation.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/client.h"
#include "lib/transport/credentials.h"
#include "lib/transport/status.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/status.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/result_sinks.h"

namespace rocksieve::join {

class Canceller::Impl {
 public:
  std::stop_source stop;
};

Canceller::Canceller() : impl_(std::make_shared<Impl>()) {}
Canceller::~Canceller() = default;
Canceller::Canceller(const Canceller&) = default;
Canceller& Canceller::operator=(const Canceller&) = default;

void Canceller::Cancel() { impl_->stop.request_stop(); }

namespace {

using Clock = Cancellation::Clock;

// So that a timeout of "for ever" does not run over.
constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365 * 10);

WireBytes BytesOf(const Traffic& traffic) {
  return {traffic.planning, traffic.filters, traffic.verification, traffic.payload};
}

ServerReport ReportOf(const ShardReport& shard) {
  const RemoteJoinReport& joined = shard.report;
  const Statistics& s = joined.statistics;
  ServerReport report;
  report.address = shard.address;
  report.database = joined.database;
  report.matched_keys = s.matched_keys;
  report.local_only_keys = s.client_only_keys;
  report.remote_only_keys = s.server_only_keys;
  report.rows_received = s.rows_received;
  report.ranges = s.ranges;
  report.equal_ranges = s.equal_ranges;
  report.repeated_ranges = s.repeated_ranges;
  report.ranges_by_list = s.ranges_by_list;
  report.ranges_by_keys = s.ranges_by_keys;
  report.ranges_by_symbols = s.ranges_by_symbols;
  report.ranges_by_sketch = s.ranges_by_sketch;
  report.filters = s.filters;
  report.sst_filters_were_used = UsesExistingFilters(s.existing.choice);
  report.sst_filters_note = Describe(s.existing.choice);
  report.sst_filters = s.existing.filters;
  report.sst_filter_bytes = s.existing.bytes;
  report.sst_filters_pruned_keys = s.existing.pruned_keys;
  report.sst_filters_withdrawn_ranges = s.existing.withdrawn_ranges;
  report.keys_hashed = s.keys_hashed;
  report.filters_built = s.filters_built;
  report.keys_pruned = s.keys_pruned;
  report.false_positives = s.false_positives;
  report.shipped_keys_bytes = static_cast<uint64_t>(s.shipped_keys_bytes);
  report.textbook_bloom_join_bytes = static_cast<uint64_t>(s.textbook_bloom_join_bytes);
  report.sent = BytesOf(s.sent);
  report.received = BytesOf(s.received);
  report.wire_bytes_sent = joined.wire.bytes_sent;
  report.wire_bytes_received = joined.wire.bytes_received;
  report.column_families = joined.families;
  report.attempts = joined.attempts;
  report.resumed = joined.resumed;
  report.restarted = joined.restarted;
  report.seconds = shard.seconds;
  return report;
}

RangeSummary SummaryOf(const std::string& address, const RangeReport& range) {
  RangeSummary summary;
  summary.address = address;
  summary.begin = range.interval.begin;
  summary.end = range.interval.end;
  summary.equal = range.equal;
  summary.moves = PartsOf(range);
  summary.local_keys = range.client_keys;
  summary.remote_keys = range.server_keys;
  summary.matched_keys = range.matched_keys;
  summary.rows_received = range.rows_received;
  summary.keys_pruned = range.keys_pruned;
  summary.local_false_positives = range.client_false_positives;
  summary.remote_false_positives = range.server_false_positives;
  summary.repeats = range.repeats;
  summary.sent = BytesOf(range.sent);
  summary.received = BytesOf(range.received);
  summary.round_trips = range.round_trips;
  summary.seconds = range.milliseconds / 1000;
  summary.shipped_keys_bytes = static_cast<uint64_t>(ShippedKeysBytes(range));
  summary.textbook_bloom_join_bytes = static_cast<uint64_t>(TextbookBloomJoinBytes(range));
  return summary;
}

JoinReport ReportOf(const ShardedJoinReport& joined) {
  JoinReport report;
  report.keys_are_known = joined.keys_are_known;
  report.matched_keys = joined.matched_keys;
  report.local_only_keys = joined.local_only_keys;
  report.remote_only_keys = joined.remote_only_keys;
  report.absent_rows_local = joined.absent_rows_local;
  report.absent_rows_remote = joined.absent_rows_remote;
  report.seconds = joined.seconds;
  Statistics sum;
  for (const ShardReport& shard : joined.shards) {
    AddStatistics(shard.report.statistics, &sum);
    report.servers.push_back(ReportOf(shard));
    const ServerReport& server = report.servers.back();
    report.wire_bytes_sent += server.wire_bytes_sent;
    report.wire_bytes_received += server.wire_bytes_received;
    report.attempts += server.attempts;
    for (const RangeReport& range : shard.report.ranges) {
      report.range_reports.push_back(SummaryOf(shard.address, range));
    }
  }
  report.rows_received = sum.rows_received;
  report.ranges = sum.ranges;
  report.equal_ranges = sum.equal_ranges;
  report.repeated_ranges = sum.repeated_ranges;
  report.sent = BytesOf(sum.sent);
  report.received = BytesOf(sum.received);
  return report;
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
  if (options.link_bytes_per_second > JoinOptions::kMostLinkBytesPerSecond) {
    return absl::InvalidArgumentError(absl::StrCat("link_bytes_per_second is ",
                                                   options.link_bytes_per_second, ", not at most ",
                                                   JoinOptions::kMostLinkBytesPerSecond));
  }
  if (options.threads < 1 || options.threads > JoinOptions::kMostThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads is ", options.threads, ", not 1 to ", JoinOptions::kMostThreads));
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

absl::Status JoinWholeRows(Operation operation, const Input& input, const Peer& peer,
                           const JoinOptions& options, ResultSink* whole_rows, JoinReport* report) {
  const auto form = [](const std::string& on) {
    return IsWholeRow(on)     ? UnpackingResultSink::Form::kByRow
           : IsExpression(on) ? UnpackingResultSink::Form::kPacked
                              : UnpackingResultSink::Form::kRow;
  };
  const std::string here = input.impl() == nullptr ? "" : input.impl()->on();
  UnpackingResultSink sink(whole_rows, form(here), form(peer.on));
  return JoinTo(operation, input, peer, options, {}, &sink, report);
}

}  // namespace

RemoteJoinOptions RemoteOptions(Operation operation, const Peer& peer, const JoinOptions& options) {
  RemoteJoinOptions remote;
  remote.client.operation = operation;
  remote.client.interval = {options.begin, options.end};
  // Rows with a NULL key lie in no interval.
  remote.client.absent_rows = options.begin.empty() && !options.end;
  remote.client.keys_per_range = options.keys_per_range;
  remote.client.planner.most_round_trips = options.most_round_trips;
  if (options.link_bytes_per_second != 0) {
    remote.client.planner.weights = WeightsForPrice(
        std::max(CostWeights().bits_per_cpu_ns,
                 PriceOfLink(static_cast<double>(options.link_bytes_per_second), options.threads)));
  }
  remote.client.most_bytes = options.most_bytes;
  remote.client.most_row_bytes = options.most_row_bytes;
  remote.client.existing.decode_builtin = DecodeBuiltinFilter;
  remote.memory_bytes = options.memory_bytes;
  remote.request = {peer.column_family, peer.on};
  remote.client.keys_are_unique = IsUniqueJoinKey(peer.on);
  remote.strategy = options.strategy;
  remote.limits.exchange.silence = options.silence;
  remote.most_attempts = options.attempts;
  remote.note = options.note;
  remote.keep_ranges = options.report_ranges;
  return remote;
}

absl::Status WithSources(const Input& input, const Peer& peer, const JoinOptions& options,
                         bool each_server, JoinWork work) {
  const absl::Status status = Check(input, peer, options);
  if (!status.ok()) return status;
  return UntilCancelled(options, [&](Cancellation* cancellation) {
    const absl::StatusOr<std::vector<Remote>> remotes = RemotesOf(peer);
    if (!remotes.ok()) return remotes.status();
    const absl::StatusOr<OpenedInput> opened =
        input.impl()->OpenSources(each_server ? remotes->size() : 1, cancellation);
    return opened.ok() ? work(*remotes, *opened, cancellation) : opened.status();
  });
}

absl::Status UntilCancelled(const JoinOptions& options,
                            absl::FunctionRef<absl::Status(Cancellation* cancellation)> work) {
  Cancellation cancellation(Clock::now() + std::min(options.timeout, kLongest));
  const std::stop_callback scope(
      options.canceller ? options.canceller->impl()->stop.get_token() : std::stop_token(),
      [&] { cancellation.Cancel(absl::CancelledError("the join was cancelled")); });
  return work(&cancellation);
}

absl::Status JoinTo(Operation operation, const Input& input, const Peer& peer,
                    const JoinOptions& options, const JoinedParts& parts, ResultSink* rows,
                    JoinReport* report) {
  ShardedJoinOptions sharded;
  sharded.remote = RemoteOptions(operation, peer, options);
  sharded.remote.client.parts = parts.intervals;
  sharded.remote.describe = parts.describe;
  sharded.remote.request.keep = parts.kept != nullptr;
  sharded.remote.request.since = parts.since;
  sharded.remote.client.comparison = parts.comparison;
  sharded.expect = options.keys_expected;
  sharded.threads = static_cast<size_t>(options.threads);
  if (options.range_done) {
    sharded.range_done = [&options](const std::string& address, const RangeReport& range) {
      options.range_done(SummaryOf(address, range));
    };
  }
  return WithSources(input, peer, options, /*each_server=*/true,
                     [&](const auto& remotes, const auto& opened, auto* cancellation) {
                       ShardedJoinReport joined;
                       const absl::Status status = JoinShards(remotes, opened.sources, sharded,
                                                              rows, cancellation, &joined);
                       if (report != nullptr) *report = ReportOf(joined);
                       if (parts.kept != nullptr && !joined.shards.empty()) {
                         *parts.kept = joined.shards.front().report.kept;
                       }
                       return status;
                     });
}

rocksdb::Status Join(Operation operation, const Input& input, const Peer& peer,
                     const JoinOptions& options, const RowCallback& on_row, JoinReport* report) {
  CallbackStatus said;
  ProvenRowsSink sink([&](const Row& row, Side from) {
    return on_row ? said.Keep(on_row({row.key, row.value, from == Side::kClient}))
                  : absl::OkStatus();
  });
  return said.Or(
      Guarded([&] { return JoinWholeRows(operation, input, peer, options, &sink, report); }));
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
        ResultFileSink::Open(file, operation, /*sort=*/IsExpression(peer.on));
    if (!sink.ok()) return sink.status();
    const absl::Status joined = JoinWholeRows(operation, input, peer, options, sink->get(), report);
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

std::string JoinStrategies() { return StrategyNames(); }

Security SecurityOf(const Credentials& credentials, const std::string& server_name) {
  return {{credentials.authority_file, credentials.certificate_file, credentials.key_file},
          credentials.insecure,
          credentials.insecure_network,
          server_name};
}

rocksdb::Status ReadTokens(const std::string& path, std::vector<std::string>* tokens) {
  absl::StatusOr<std::vector<std::string>> read = ReadTokens(path);
  if (read.ok()) *tokens = *std::move(read);
  return ToRocksDb(read.status());
}

rocksdb::Status SplitAddresses(const std::string& list, std::vector<std::string>* addresses) {
  absl::StatusOr<std::vector<std::string>> split = SplitAddresses(list);
  if (split.ok()) *addresses = *std::move(split);
  return ToRocksDb(split.status());
}

}  // namespace rocksieve::join
