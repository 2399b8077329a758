// SPDX-License-Identifier: Apache-2.0
// What happened in a join, and in all joins of a server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rocksieve::join {

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

// A column family, by the names that RocksDB has for what orders and merges its rows.
struct ColumnFamilyDescription {
  std::string name;
  std::string comparator;
  std::string merge_operator;  // empty: none
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

// Of a service, since it was made. Statuses by name, in lower case: "resource_exhausted".
struct ServerCounters {
  uint64_t sessions = 0;                    // under way
  uint64_t silent_calls = 0;                // connected, and have not said anything yet
  uint64_t done = 0;                        // sessions that ended as they should
  std::map<std::string, uint64_t> failed;   // sessions that began, by status
  std::map<std::string, uint64_t> refused;  // those that did not
  // Of sessions that have ended.
  uint64_t bytes_received = 0, bytes_sent = 0, rows_sent = 0;
  double session_seconds = 0;
};

}  // namespace rocksieve::join
