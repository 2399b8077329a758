// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/range_turns.h"
#include "lib/transport/client.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/session/range_result.h"
#include "lib/join/session/shared_ranges.h"
#include "lib/join/sort/row_sorter.h"
#include "lib/transport/status.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

using Clock = std::chrono::steady_clock;
using Sources = std::vector<std::shared_ptr<Source>>;
using Reports = std::vector<RemoteJoinReport>;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What one shard gives, in a temporary file until all shards are done, in the order of the keys.
class ShardSpool final : public ResultSink {
 public:
  absl::Status Add(const Row& row, Side from) override { return pending_.Add(row, from); }
  absl::Status Commit() override {
    std::string value;  // behind the side
    const absl::Status status = pending_.Visit([&](const Row& row, Side from) {
      value.assign(1, static_cast<char>(from)).append(row.value);
      return writer_->Add({row.key, value});
    });
    return status.ok() ? pending_.Clear() : status;
  }
  absl::Status Discard() override { return pending_.Clear(); }
  // Also before the first row.
  absl::Status Restart() override {
    ASSIGN_OR_RETURN(writer_, SortedRunWriter::Create(""));
    return pending_.Clear();
  }

  // After the last row: Finish Advance*.
  absl::Status Finish() {
    ASSIGN_OR_RETURN(run_, writer_->Finish());
    cursor_ = run_->Scan({});
    return Advance();
  }
  absl::Status Advance() {
    any_ = cursor_->Next(&row_);
    if (!any_) return cursor_->status();
    from_ = static_cast<Side>(row_.value.front());
    row_.value.remove_prefix(1);
    return absl::OkStatus();
  }
  // The row on which it stands, if there is one; valid until it goes on.
  bool any() const { return any_; }
  const Row& row() const { return row_; }
  Side from() const { return from_; }

 private:
  RowSpool pending_;
  std::unique_ptr<SortedRunWriter> writer_;
  std::unique_ptr<SortedRun> run_;
  std::unique_ptr<Cursor> cursor_;
  bool any_ = false;
  Row row_;
  Side from_ = Side::kClient;
};

using Spools = std::vector<std::unique_ptr<ShardSpool>>;

// Rows of the server that any shard has; rows of the client that all shards gave. In
// the order of their keys.
absl::Status MergeShards(const Spools& shards, Sink* sink) {
  for (const auto& shard : shards) {
    RETURN_IF_ERROR(shard->Finish());
  }
  for (;;) {
    const ShardSpool* first = nullptr;
    for (const auto& shard : shards) {
      if (shard->any() && (first == nullptr || shard->row().key < first->row().key)) {
        first = shard.get();
      }
    }
    if (first == nullptr) return sink->Commit();
    const std::string key(first->row().key);
    // A shard gives the rows of one side for a key: those of the client if it lacks the key.
    const bool all_lack = std::all_of(shards.begin(), shards.end(), [&key](const auto& shard) {
      return shard->any() && shard->row().key == key && shard->from() == Side::kClient;
    });
    for (const auto& shard : shards) {
      while (shard->any() && shard->row().key == key) {
        if (shard->from() == Side::kServer || (all_lack && shard == shards.front())) {
          RETURN_IF_ERROR(sink->Add(shard->row(), shard->from()));
        }
        RETURN_IF_ERROR(shard->Advance());
      }
    }
  }
}

// Counts distinct keys and forgets the rows.
class KeyCounter final : public Sink {
 public:
  absl::Status Add(const Row& row, Side) override {
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

absl::Status JoinShard(const Remote& remote, Source* source, const ShardedJoinOptions& options,
                       ResultSink* sink, const Cancellation* cancellation,
                       RemoteJoinReport* report) {
  const Clock::time_point begin = Clock::now();
  const absl::Status status = Guarded([&] {
    if (options.expect) options.expect(source->EstimateKeys());
    return JoinRemotely(remote, source, sink, options.remote, cancellation, report);
  });
  report->seconds = SecondsSince(begin);
  return status;
}

constexpr size_t kMostRangesAhead = 6;  // as many as servers allow

// With several shards a key is matched if one of them has it. So each tells which keys it lacks,
// which costs no byte on the wire more than counting.
ShardedJoinOptions ForSeveral(ShardedJoinOptions options) {
  ClientSessionOptions* const client_options = &options.remote.client;
  client_options->own_absent_rows = false;  // once is enough: see EmitOwnAbsentRows()
  if (client_options->operation == Operation::kCount)
    client_options->operation = Operation::kLocalOnly;
  return options;
}

// Rows with a NULL key match nothing in any shard.
absl::Status EmitOwnAbsentRows(const ClientSessionOptions& options, Source* source, Sink* sink) {
  if (!EmitsLocalRows(options.operation) || !options.absent_rows) return absl::OkStatus();
  uint64_t rows = 0;
  const absl::Status status = EmitAbsentRows(source, sink, &rows);
  return status.ok() ? sink->Commit() : status;
}

// A database that is joined with under two addresses would give each of its rows twice.
absl::Status CheckDifferent(const Reports& shards) {
  std::map<std::string, std::string> addresses;
  for (const RemoteJoinReport& shard : shards) {
    const auto [known, is_new] = addresses.emplace(shard.database, shard.address);
    if (is_new || shard.database.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(known->second, " and ", shard.address, " serve the same database (",
                     shard.database, "): name each shard once"));
  }
  return absl::OkStatus();
}

absl::Status JoinSeveral(const std::vector<Remote>& remotes, const Sources& sources,
                         const ShardedJoinOptions& options, ResultSink* sink,
                         Cancellation* cancellation, Reports* shards, JoinReport* report) {
  const ShardedJoinOptions for_shards = ForSeveral(options);
  const size_t count = remotes.size();
  Spools spools;
  for (size_t i = 0; i < count; i++) {
    RETURN_IF_ERROR(spools.emplace_back(std::make_unique<ShardSpool>())->Restart());
  }
  SharedRanges::Options sharing;
  sharing.salt = RandomSalt();
  sharing.most_kept = std::max(sharing.most_kept, 2 * options.remote.client.ranges_ahead);
  SharedRanges ranges(sharing);
  // All are there before the first one begins: else it would not keep what the others need.
  std::vector<std::unique_ptr<SharedRanges::Member>> members;
  for (size_t i = 0; i < count; i++) {
    members.push_back(std::make_unique<SharedRanges::Member>(&ranges));
  }
  std::vector<std::thread> threads;
  const absl::Status started = Guarded([&] {
    threads.reserve(count);
    for (size_t i = 0; i < count; i++) {
      threads.emplace_back([&, i] {
        const absl::Status status = Guarded([&] {
          ShardedJoinOptions mine = for_shards;
          mine.remote.client.shared = members[i].get();
          return JoinShard(remotes[i], sources[i].get(), mine, spools[i].get(), cancellation,
                           &(*shards)[i]);
        });
        members[i]->Leave();
        // A part of the shards is no answer: the others need not go on.
        if (!status.ok()) cancellation->Cancel(status);
      });
    }
    return absl::OkStatus();
  });
  if (!started.ok()) {
    cancellation->Cancel(started);
    for (size_t i = threads.size(); i < count; i++) members[i]->Leave();
  }
  for (std::thread& thread : threads) thread.join();
  const absl::Status status = cancellation->Check();  // the first error, which the others got too
  if (!status.ok()) return status;
  RETURN_IF_ERROR(CheckDifferent(*shards));
  const ClientSessionOptions& client_options = options.remote.client;
  if (client_options.operation != Operation::kCount) {
    report->keys_are_known = false;
    const absl::Status merged = MergeShards(spools, sink);
    return merged.ok() ? EmitOwnAbsentRows(client_options, sources.front().get(), sink) : merged;
  }
  KeyCounter lacking;
  absl::Status merged = MergeShards(spools, &lacking);
  if (merged.ok() && client_options.absent_rows) {
    merged = EmitAbsentRows(sources.front().get(), nullptr, &report->absent_rows_local);
  }
  const Statistics& any = shards->front();
  report->local_only_keys = lacking.keys();
  report->matched_keys = any.matched_keys + any.local_only_keys - lacking.keys();
  return merged;
}

void AddShards(Reports* shards, ShardedJoinReport* report) {
  Statistics sum;
  for (RemoteJoinReport& shard : *shards) {
    shard.sst_filters_were_used = UsesExistingFilters(shard.existing_choice);
    shard.sst_filters_note = Describe(shard.existing_choice);
    AddStatistics(shard, &sum);
    report->wire_bytes_sent += shard.wire_bytes_sent;
    report->wire_bytes_received += shard.wire_bytes_received;
    report->attempts += shard.attempts;
    for (RangeSummary& range : shard.range_reports) {
      report->range_reports.push_back(std::move(range));
    }
    report->servers.push_back(shard);
  }
  report->remote_only_keys = sum.remote_only_keys;
  report->rows_received = sum.rows_received;
  report->ranges = sum.ranges;
  report->equal_ranges = sum.equal_ranges;
  report->repeated_ranges = sum.repeated_ranges;
  report->sent = sum.sent;
  report->received = sum.received;
  report->kept = shards->front().kept;
}

}  // namespace

absl::Status JoinShards(const std::vector<Remote>& remotes, const Sources& sources,
                        const ShardedJoinOptions& wanted, ResultSink* sink,
                        Cancellation* cancellation, ShardedJoinReport* report) {
  const Clock::time_point begin = Clock::now();
  ShardedJoinOptions options = wanted;
  std::optional<Workers> workers;
  if (options.threads > 1) {
    options.remote.client.workers = &workers.emplace(options.threads);
    options.remote.client.ranges_ahead = std::min(kMostRangesAhead, 2 * options.threads);
  }
  Reports shards(remotes.size());
  for (size_t i = 0; i < shards.size(); i++) shards[i].address = remotes[i].address;
  absl::Status status;
  if (shards.size() == 1) {
    const RemoteJoinReport& only = shards.front();
    status = JoinShard(remotes.front(), sources.front().get(), options, sink, cancellation,
                       &shards.front());
    report->matched_keys = only.matched_keys;
    report->local_only_keys = only.local_only_keys;
    report->absent_rows_local = only.local_absent_rows;
    report->absent_rows_remote = only.remote_absent_rows;
  } else {
    status = Guarded([&] {
      return JoinSeveral(remotes, sources, options, sink, cancellation, &shards, report);
    });
  }
  AddShards(&shards, report);
  report->seconds = SecondsSince(begin);
  return status;
}

}  // namespace rocksieve::join
