// SPDX-License-Identifier: Apache-2.0
// An exact join of rows here with rows of another process, in few bytes on the wire.
//
//   Input orders;
//   rocksdb::Status status = Input::OfDatabase(db, nullptr, rocksdb::ReadOptions(), {}, &orders);
//   Peer peer;
//   peer.addresses = {"customers.example:7420"};
//   peer.credentials = {"ca.pem", "client.pem", "client.key"};
//   JoinReport report;
//   if (status.ok()) {
//     status = Join(Operation::kIntersection, orders, peer, JoinOptions(),
//                   [](const ResultRow& row) { ...; return rocksdb::Status::OK(); }, &report);
//   }
//
// The peer is `rocksieve serve`, or a program with the service of server.h. No row is lost, and
// none is given that does not belong: each range of keys ends with a proof (docs/protocol.md).
//
// Statuses: InvalidArgument, something asked for is not possible, or the peer does not know us;
// NotSupported, versions differ; TryAgain, nobody answers, or the stream broke too often; TimedOut;
// Busy, a limit of the peer or of memory; Aborted, by Canceller; Corruption, the two sides
// contradict each other; else IOError. Messages name the peer and, where there is one, the range.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/options.h>
#include <rocksdb/status.h>
#include <rocksieve/join/export.h>
#include <rocksieve/join/input.h>
#include <rocksieve/join/operation.h>
#include <rocksieve/join/peer.h>

namespace rocksieve::join {

// The views are valid until the callback returns.
struct ResultRow {
  std::string_view key, value;
  bool is_local = false;  // of this side: kLocalOnly, kSymmetric
};

// Gets rows that are proven to belong to the result, in the order of what was joined on, from the
// thread that called Join(). A status that is not OK ends the join, which returns it.
using RowCallback = std::function<rocksdb::Status(const ResultRow& row)>;

// What a result is written as: lines of key, TAB and value; lines of JSON objects; an SST file to
// be ingested. Lines of kSymmetric say of which side a row is.
enum class RowFormat { kTsv, kJson, kSst };

// Where a result goes.
struct ResultFile {
  // It appears under its name when the join is complete, and replaces what was there. "-" is the
  // standard output: this, a pipe and a device get rows as they are proven.
  std::string path = "-";
  RowFormat format = RowFormat::kTsv;
  // Of kSst: compression, filter policy.
  rocksdb::Options rocksdb_options = {};
  // Of kSst, for rows that do not come in the order of their keys.
  size_t sort_memory_bytes = size_t{64} << 20;
};

// Ends joins early, from any thread. Copies end the same joins.
class ROCKSIEVE_EXPORT Canceller {
 public:
  Canceller();
  ~Canceller();
  Canceller(const Canceller&);
  Canceller& operator=(const Canceller&);

  void Cancel();

  class Impl;
  Impl* impl() const { return impl_.get(); }

 private:
  std::shared_ptr<Impl> impl_;
};

// Bytes of messages by what they are for, rows in their compressed form.
struct WireBytes {
  uint64_t planning = 0;      // opening ranges: counts, sums, estimators
  uint64_t filters = 0;       // that tell the other side which keys cannot match
  uint64_t verification = 0;  // what makes it exact
  uint64_t payload = 0;       // rows

  uint64_t total() const { return planning + filters + verification + payload; }
};

// What happened in one range of keys.
struct RangeSummary {
  std::string address;  // of the shard
  std::string begin;
  std::optional<std::string> end;
  bool equal = false;  // both sides have the same keys there
  std::string moves;   // in their order, of both sides: "filter filter sketch"; or "equal"
  uint64_t local_keys = 0, remote_keys = 0, matched_keys = 0, rows_received = 0;
  // Keys of this side that filters of the other one dropped; keys that passed all filters of the
  // side that lacks them, those of the peer as far as it told how many it had left.
  uint64_t keys_pruned = 0, local_false_positives = 0, remote_false_positives = 0;
  uint32_t repeats = 0;  // since a proof failed
  WireBytes sent, received;
  uint64_t round_trips = 0;
  double seconds = 0;  // ranges overlap in time
  // What two other ways would have taken on the wire, rows apart: the side with fewer keys sends
  // all of them, front-coded and compressed; a filter of 10 bits for each of them, answered with
  // the keys of the other side that pass.
  uint64_t shipped_keys_bytes = 0, textbook_bloom_join_bytes = 0;
};

struct JoinOptions {
  // The part of what is joined on: from `begin` up to but without `end`; to the last one if there
  // is none. Both sides leave the rest out.
  std::string begin;
  std::optional<std::string> end;

  // "auto": the cheapest for each range; else one of JoinStrategies() for all.
  std::string strategy = "auto";
  // Keys of a range, at most: the unit of memory, and of going on after the connection broke. The
  // peer may ask for smaller ones.
  uint64_t keys_per_range = uint64_t{1} << 20;
  // Of all that a peer makes this side keep, its own keys of the ranges under way among it; for
  // each of several peers. Beyond it the join ends with Status::Busy. At least 8 MiB; rows larger
  // than half of it do not fit.
  uint64_t memory_bytes = uint64_t{1} << 30;
  // That compute, beside one that reads and talks; 1: that one does both. With N of them, 2 N
  // ranges are under way at once, at most 6, instead of 2, each with its memory. From 1 to
  // kMostThreads.
  static constexpr int kMostThreads = 64;
  int threads = 1;
  // Of a row of the peer, key and value: larger ones are refused.
  uint64_t most_row_bytes = uint64_t{256} << 20;
  // That a range may take, from 1 to 32; wrong estimates may take two more. Fewer cost bytes: 5 to
  // 20 %, where half or less is in common.
  int most_round_trips = 4;
  // Of the link to each peer, each way: a join is planned to be quick on it, and may send more
  // bytes than it needs to, down to shipping the keys where that is quickest. 0: bytes are what
  // counts.
  static constexpr uint64_t kMostLinkBytesPerSecond = 125'000'000'000;
  uint64_t link_bytes_per_second = 0;
  // Bytes of messages with each peer, rows apart: a join that would take more, by its plan, is
  // refused with Status::Busy before it does. 0: no limit.
  uint64_t most_bytes = 0;

  std::chrono::milliseconds timeout = std::chrono::hours(24);     // for all of it
  std::chrono::milliseconds silence = std::chrono::seconds(120);  // until a silent peer is given up
  // Connections that break, or cannot be had, without a range finished in between.
  int attempts = 4;
  std::optional<Canceller> canceller;
  bool report_ranges = false;  // JoinReport::range_reports: some 200 bytes for each
  // Told of broken connections before they are tried again. May be empty.
  std::function<void(const std::string& note)> note;
  // Told of the number of keys of this side, about, for each server, and of each range that is
  // done. Called by several threads at once; may be empty.
  std::function<void(uint64_t keys)> keys_expected;
  std::function<void(const RangeSummary& range)> range_done;
};

// What happened with one server.
struct ServerReport {
  std::string address;
  std::string database;                                  // identity of the server's
  std::vector<ColumnFamilyDescription> column_families;  // that it serves; of comparisons
  uint64_t matched_keys = 0, local_only_keys = 0, remote_only_keys = 0, rows_received = 0;
  uint64_t ranges = 0, equal_ranges = 0, repeated_ranges = 0;
  uint64_t ranges_by_list = 0, ranges_by_keys = 0, ranges_by_symbols = 0, ranges_by_sketch = 0;
  uint64_t filters = 0;  // sent and received, for repeated ranges too
  // Filters in SST files: how many were used, whether and why not, and what they ruled out. Of the
  // ranges that began with them, some may have had to begin anew without.
  bool sst_filters_were_used = false;
  std::string sst_filters_note;
  uint64_t sst_filters = 0, sst_filter_bytes = 0, sst_filters_pruned_keys = 0;
  uint64_t sst_filters_withdrawn_ranges = 0;
  // What was scanned, hashed and built for this server, and not for another one of the same join.
  uint64_t keys_hashed = 0, filters_built = 0;
  // Sums of RangeSummary's.
  uint64_t keys_pruned = 0, false_positives = 0;
  uint64_t shipped_keys_bytes = 0, textbook_bloom_join_bytes = 0;
  WireBytes sent, received;
  uint64_t wire_bytes_sent = 0, wire_bytes_received = 0;  // of gRPC messages: all of the above
  // Connections; of them, those that went on where the last one broke, and those that could not.
  uint64_t attempts = 0, resumed = 0, restarted = 0;
  double seconds = 0;
};

struct JoinReport {
  // Distinct join keys; a key that several shards have counts for each among the remote ones. Of
  // several shards only kCount knows the first two.
  bool keys_are_known = true;
  uint64_t matched_keys = 0, local_only_keys = 0, remote_only_keys = 0;
  // Rows with a NULL key; of an operation that gives or counts them.
  uint64_t absent_rows_local = 0, absent_rows_remote = 0;
  uint64_t rows_received = 0;

  uint64_t ranges = 0;
  uint64_t equal_ranges = 0;     // equal by their sums alone
  uint64_t repeated_ranges = 0;  // a proof failed, and the range was joined anew
  WireBytes sent, received;
  uint64_t wire_bytes_sent = 0, wire_bytes_received = 0;  // of gRPC messages: all of the above
  uint64_t attempts = 0;                                  // connections
  double seconds = 0;
  std::vector<ServerReport> servers;        // in the order of Peer::addresses
  std::vector<RangeSummary> range_reports;  // if asked for: JoinOptions::report_ranges
};

// Blocks. `on_row` may be empty (kCount gives no rows). `report` may be null; it is filled as far
// as the join came if there is an error. Memory: see keys_per_range; what a range gives beyond 4
// MiB waits for its proof in a temporary file. Thread-safe: any number of joins may run at once.
ROCKSIEVE_EXPORT rocksdb::Status Join(Operation operation, const Input& input, const Peer& peer,
                                      const JoinOptions& options, const RowCallback& on_row,
                                      JoinReport* report);

// The same with the rows written to a file. *rows is their number; may be null. RocksDB has no SST
// files without rows: if there are none, there is no file, and none of an earlier join under its
// name either. InvalidArgument if rows of this side would go into an SST file.
ROCKSIEVE_EXPORT rocksdb::Status JoinToFile(Operation operation, const Input& input,
                                            const Peer& peer, const JoinOptions& options,
                                            const ResultFile& file, uint64_t* rows,
                                            JoinReport* report);

// JoinToFile() for kIntersection or kDifference: an SST file for DB::IngestExternalFile(), in the
// order of the keys, each key once.
ROCKSIEVE_EXPORT rocksdb::Status JoinToSst(Operation operation, const Input& input,
                                           const Peer& peer, const JoinOptions& options,
                                           const rocksdb::Options& rocksdb_options,
                                           const std::string& path, uint64_t* rows,
                                           JoinReport* report);

// What a join with one server would cost, by one exchange with it and one range of keys that is
// read on both sides. Nothing is joined.
struct JoinPlan {
  struct Strategy {
    std::string name;
    double bits = 0;  // for the range, rows apart
  };

  std::string address;
  uint64_t local_keys = 0, remote_keys = 0;  // of all, estimated
  uint64_t range_local_keys = 0, range_remote_keys = 0, range_common_keys = 0;
  bool range_is_equal = false;
  std::string first_move;            // of the cheapest way: "filter of 4.0 bits"
  bool keys_are_as_cheap = false;    // shipping all keys of one side loses nothing
  std::vector<Strategy> strategies;  // the cheapest first; "auto" may mix them. None if one side
                                     // has no keys in the range, or both have the same
};

// A plan for each of the peer's addresses. Blocks; statuses as those of Join(). Thread-safe.
ROCKSIEVE_EXPORT rocksdb::Status PlanJoin(const Input& input, const Peer& peer,
                                          const JoinOptions& options, std::vector<JoinPlan>* plans);

// "auto, keys, list, ...", for JoinOptions::strategy.
ROCKSIEVE_EXPORT std::string JoinStrategies();

}  // namespace rocksieve::join
