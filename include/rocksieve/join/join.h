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

struct JoinOptions {
  // The part of what is joined on: from `begin` up to but without `end`; to the last one if there
  // is none. Both sides leave the rest out.
  std::string begin;
  std::optional<std::string> end;

  // "auto": the cheapest for each range; else one for all, as `rocksieve join --strategy` has it.
  std::string strategy = "auto";
  // Keys of a range, at most: the unit of memory, and of going on after the connection broke. The
  // peer may ask for smaller ones.
  uint64_t keys_per_range = uint64_t{1} << 20;
  // Of all that a peer makes this side keep, its own keys of the ranges under way among it; for each
  // of several peers. Beyond it the join ends with Status::Busy. At least 8 MiB; rows larger than
  // half of it do not fit.
  uint64_t memory_bytes = uint64_t{1} << 30;
  // That a range may take, from 1 to 32; wrong estimates may take two more. Fewer cost bytes: 5 to
  // 20 %, where half or less is in common.
  int most_round_trips = 4;
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
  std::string moves;  // in their order, of both sides: "filter filter sketch"; or "equal"
  uint64_t local_keys = 0, remote_keys = 0, matched_keys = 0, rows_received = 0;
  uint32_t repeats = 0;  // since a proof failed
  WireBytes sent, received;
  uint64_t round_trips = 0;
  double seconds = 0;  // ranges overlap in time
};

struct JoinReport {
  // Distinct keys, or attributes; a key that several shards have counts for each among the remote
  // ones. Of several shards only kCount knows the first two.
  bool keys_are_known = true;
  uint64_t matched_keys = 0, local_only_keys = 0, remote_only_keys = 0;
  // Rows without the attribute; of an operation that gives or counts them.
  uint64_t absent_rows_local = 0, absent_rows_remote = 0;
  uint64_t rows_received = 0;

  uint64_t ranges = 0;
  uint64_t equal_ranges = 0;     // settled by comparing sums
  uint64_t repeated_ranges = 0;  // a proof failed, and the range was joined anew
  WireBytes sent, received;
  uint64_t wire_bytes_sent = 0, wire_bytes_received = 0;  // of gRPC messages: all of the above
  uint64_t attempts = 0;                                  // connections
  double seconds = 0;
  std::vector<RangeSummary> range_reports;  // if asked for: JoinOptions::report_ranges
};

// Blocks. `on_row` may be empty (kCount gives no rows). `report` may be null; it is filled as far
// as the join came if there is an error. Memory: see keys_per_range; what a range gives beyond 4
// MiB waits for its proof in a temporary file. Thread-safe: any number of joins may run at once.
ROCKSIEVE_EXPORT rocksdb::Status Join(Operation operation, const Input& input, const Peer& peer,
                                      const JoinOptions& options, const RowCallback& on_row,
                                      JoinReport* report);

// kIntersection or kDifference, with the peer's rows written to an SST file in the order of their
// keys, each key once, for DB::IngestExternalFile(). `rocksdb_options` say how (compression, filter
// policy). The file appears under its name when the join is complete; if there are no rows, there
// is no file, since RocksDB has no empty ones: *rows is 0 then.
ROCKSIEVE_EXPORT rocksdb::Status JoinToSst(Operation operation, const Input& input,
                                           const Peer& peer, const JoinOptions& options,
                                           const rocksdb::Options& rocksdb_options,
                                           const std::string& path, uint64_t* rows,
                                           JoinReport* report);

}  // namespace rocksieve::join
