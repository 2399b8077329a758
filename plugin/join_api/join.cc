// SPDX-License-Identifier: Apache-2.0
#include <rocksieve/join/join.h>

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>
#include <vector>

#include <absl/functional/function_ref.h>
#include <absl/strings/str_cat.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/matching/planner.h"
#include "lib/join/rows/source.h"
#include "lib/join/session/messages.h"
#include "lib/transport/cancellation.h"
#include "lib/transport/client.h"
#include "lib/transport/credentials.h"
#include "lib/transport/status.h"
#include "plugin/join/sst_filters.h"
#include "plugin/join/status.h"
#include "plugin/join_api/join_impl.h"
#include "plugin/join_api/result_sinks.h"
#include "support/return_if_error.h"

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

absl::Status Check(const Input& input, const Peer& peer, const JoinOptions& options) {
  if (input.impl() == nullptr) {
    return absl::InvalidArgumentError("the input is empty: make it with Input::OfDatabase() first");
  }
  if (peer.addresses.empty()) {
    return absl::InvalidArgumentError("the peer has no address: add one, as in \"host:7420\"");
  }
  for (const std::string& address : peer.addresses) {
    RETURN_IF_ERROR(CheckAddress(address, AddressUse::kConnect));
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
    ASSIGN_OR_RETURN(std::shared_ptr<grpc::ChannelCredentials> credentials,
                     ChannelCredentialsFor(address, SecurityOf(peer.credentials)));
    remotes.push_back(
        {address, std::move(credentials), peer.server_name, peer.token, peer.credentials.insecure});
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
  remote.client.keys_per_range = std::min(options.keys_per_range, kMostKeysOfARange);
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
  remote.limits.exchange.silence = std::min(options.silence, kLongest);
  remote.most_attempts = options.attempts;
  remote.note = options.note;
  remote.keep_ranges = options.report_ranges;
  remote.range_done = options.range_done;
  return remote;
}

absl::Status WithSources(const Input& input, const Peer& peer, const JoinOptions& options,
                         bool each_server, JoinWork work) {
  RETURN_IF_ERROR(Check(input, peer, options));
  return UntilCancelled(options, [&](Cancellation* cancellation) {
    ASSIGN_OR_RETURN(const std::vector<Remote> remotes, RemotesOf(peer));
    const absl::StatusOr<OpenedInput> opened =
        input.impl()->OpenSources(each_server ? remotes.size() : 1, cancellation);
    return opened.ok() ? work(remotes, *opened, cancellation) : opened.status();
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
  return WithSources(input, peer, options, /*each_server=*/true,
                     [&](const auto& remotes, const auto& opened, auto* cancellation) {
                       ShardedJoinReport joined;
                       const absl::Status status = JoinShards(remotes, opened.sources, sharded,
                                                              rows, cancellation, &joined);
                       if (parts.kept != nullptr) *parts.kept = joined.kept;
                       if (report != nullptr) *report = std::move(joined);
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
    ASSIGN_OR_RETURN(std::unique_ptr<ResultFileSink> sink,
                     ResultFileSink::Open(file, operation, /*sort=*/IsExpression(peer.on)));
    const absl::Status joined = JoinWholeRows(operation, input, peer, options, sink.get(), report);
    const absl::Status finished = joined.ok() ? sink->Finish() : joined;
    if (rows != nullptr) *rows = sink->rows();
    return finished;
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

Security SecurityOf(const Credentials& credentials) {
  return {credentials.authority_file, credentials.certificate_file, credentials.key_file,
          credentials.insecure, credentials.insecure_network};
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
