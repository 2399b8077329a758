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
#include <rocksieve/join/report.h>

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
