#include "join/join_run.h"

#include <chrono>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "join/absent_rows.h"
#include "join/frozen_source.h"
#include "join/spool.h"
#include "transport/cancellable_source.h"
#include "transport/status.h"

namespace rocksieve::tools {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Counts distinct keys and forgets the rows.
class KeyCounter final : public join::Sink {
 public:
  absl::Status Add(const join::Row& row, join::Side) override {
    if (keys_ == 0 || row.key != last_) keys_++;
    last_ = row.key;
    return absl::OkStatus();
  }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
  uint64_t keys() const { return keys_; }

 private:
  uint64_t keys_ = 0;
  std::string last_;
};

absl::Status RunShard(const JoinRunOptions& options, join::Source* source, join::ResultSink* sink,
                      const join::Cancellation* cancellation, ShardResult* result) {
  const Clock::time_point begin = Clock::now();
  absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
      join::ChannelCredentialsFor(result->address, options.security);
  if (!credentials.ok()) return credentials.status();
  if (options.expect) options.expect(source->EstimateKeys());
  const join::Remote remote = {result->address, *credentials, options.security.server_name,
                               options.token};
  const absl::Status status = join::JoinRemotely(remote, source, sink, options.remote,
                                                 cancellation, &result->report);
  result->seconds = SecondsSince(begin);
  return status;
}

// With several shards a key is matched if one of them has it. So each tells which keys it lacks,
// which costs no byte on the wire more than counting.
JoinRunOptions ForShards(JoinRunOptions options) {
  options.remote.asking.own_absent_rows = false;  // once is enough: see EmitOwnAbsentRows()
  if (options.remote.asking.operation == join::Operation::kCount) {
    options.remote.asking.operation = join::Operation::kLocalOnly;
  }
  return options;
}

// Rows without the attribute match nothing in any shard.
absl::Status EmitOwnAbsentRows(const JoinRunOptions& options, join::Source* source,
                               join::Sink* sink) {
  if (!EmitsLocalRows(options.remote.asking.operation)) return absl::OkStatus();
  uint64_t rows = 0;
  const absl::Status status = join::EmitAbsentRows(source, sink, &rows);
  return status.ok() ? sink->Commit() : status;
}

uint64_t RandomSalt() {
  std::random_device random;  // of the operating system
  return uint64_t{random()} << 32 | random();
}

absl::Status RunShards(const JoinRunOptions& options, const FrozenFamily& family,
                       join::ResultSink* sink, join::Cancellation* cancellation,
                       JoinResult* result) {
  const JoinRunOptions for_shards = ForShards(options);
  const size_t count = options.addresses.size();
  std::vector<std::unique_ptr<Spool>> spools;
  for (size_t i = 0; i < count; i++) {
    absl::StatusOr<std::unique_ptr<Spool>> spool = Spool::Create();
    if (!spool.ok()) return spool.status();
    spools.push_back(*std::move(spool));
  }
  absl::StatusOr<std::vector<std::shared_ptr<join::Source>>> sources =
      SourcesOf(family, options.left_on, options.sort_memory_bytes, cancellation, count);
  if (!sources.ok()) return sources.status();
  join::SharedRanges::Options sharing;
  sharing.salt = RandomSalt();
  join::SharedRanges ranges(sharing);
  // All are there before the first one begins: else it would not keep what the others need.
  std::vector<std::unique_ptr<join::SharedRanges::Member>> members;
  for (size_t i = 0; i < count; i++) {
    members.push_back(std::make_unique<join::SharedRanges::Member>(&ranges));
  }
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; i++) {
    threads.emplace_back([&, i] {
      JoinRunOptions mine = for_shards;
      mine.remote.asking.shared = members[i].get();
      const absl::Status status = RunShard(mine, (*sources)[i].get(), spools[i].get(),
                                           cancellation, &result->shards[i]);
      members[i]->Leave();
      // A part of the shards is no answer: the others need not go on.
      if (!status.ok()) cancellation->Cancel(status);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Status status = cancellation->Check();  // the first error, which the others got too
  if (!status.ok()) return status;
  if (options.remote.asking.operation != join::Operation::kCount) {
    result->keys_are_known = false;
    const absl::Status merged = MergeShards(spools, sink);
    return merged.ok() ? EmitOwnAbsentRows(options, sources->front().get(), sink) : merged;
  }
  KeyCounter lacking;
  const absl::Status merged = MergeShards(spools, &lacking);
  const join::Statistics& any = result->shards.front().report.statistics;
  result->local_only_keys = lacking.keys();
  result->matched_keys = any.matched_keys + any.keys_of_asking_side_only - lacking.keys();
  return merged;
}

}  // namespace

absl::Status RunJoin(const JoinRunOptions& options, join::ResultSink* sink,
                     join::Cancellation* cancellation, JoinResult* result) {
  const Clock::time_point begin = Clock::now();
  const absl::StatusOr<FrozenFamily> family =
      FreezeFamily(options.directory, options.column_family);
  if (!family.ok()) return family.status();
  for (const std::string& address : options.addresses) result->shards.push_back({address, {}, 0});
  absl::Status status;
  if (options.addresses.size() == 1) {
    const absl::StatusOr<std::unique_ptr<join::Source>> source =
        SourceOf(*family, options.left_on, options.sort_memory_bytes, cancellation);
    if (!source.ok()) return source.status();
    status = RunShard(options, source->get(), sink, cancellation, &result->shards.front());
    const join::Statistics& statistics = result->shards.front().report.statistics;
    result->matched_keys = statistics.matched_keys;
    result->local_only_keys = statistics.keys_of_asking_side_only;
  } else {
    status = RunShards(options, *family, sink, cancellation, result);
  }
  for (const ShardResult& shard : result->shards) {
    result->remote_only_keys += shard.report.statistics.keys_of_answering_side_only;
  }
  result->seconds = SecondsSince(begin);
  return status;
}

absl::Status PlanJoin(const JoinRunOptions& options, const join::Cancellation* cancellation,
                      std::vector<ShardPlan>* plans) {
  const absl::StatusOr<FrozenFamily> family =
      FreezeFamily(options.directory, options.column_family);
  if (!family.ok()) return family.status();
  const absl::StatusOr<std::unique_ptr<join::Source>> rows =
      SourceOf(*family, options.left_on, options.sort_memory_bytes, cancellation);
  if (!rows.ok()) return rows.status();
  join::CancellableSource source(rows->get(), cancellation);
  for (const std::string& address : options.addresses) {
    const absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> credentials =
        join::ChannelCredentialsFor(address, options.security);
    if (!credentials.ok()) return credentials.status();
    const absl::StatusOr<std::unique_ptr<join::RemoteSession>> remote =
        join::RemoteSession::Start({address, *credentials, options.security.server_name,
                                    options.token},
                                   options.remote.request, "", "", cancellation,
                                   options.remote.limits);
    if (!remote.ok()) return join::NamingPeer(address, remote.status());
    PlanSession session(&source, std::random_device()(), options.remote.asking.keys_per_range);
    join::WireCounts counts;
    const absl::Status status = (*remote)->Run(&session, &counts);
    if (!status.ok()) return join::NamingPeer(address, status);
    plans->push_back({address, session.plan()});
  }
  return absl::OkStatus();
}

}  // namespace rocksieve::tools
