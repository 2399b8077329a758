#include "plugin/join_api/report.h"

namespace rocksieve::join {
namespace {

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
  report.local_only_keys = s.keys_of_asking_side_only;
  report.remote_only_keys = s.keys_of_answering_side_only;
  report.rows_received = s.rows_received;
  report.ranges = s.ranges;
  report.equal_ranges = s.equal_ranges;
  report.repeated_ranges = s.repeated_ranges;
  report.ranges_by_list = s.ranges_by_list;
  report.ranges_by_keys = s.ranges_by_keys;
  report.ranges_by_symbols = s.ranges_by_symbols;
  report.ranges_by_sketch = s.ranges_by_sketch;
  report.filters = s.filters;
  report.sst_filters_were_used = UsesReadyFilters(s.ready.choice);
  report.sst_filters_note = Describe(s.ready.choice);
  report.sst_filters = s.ready.filters;
  report.sst_filter_bytes = s.ready.bytes;
  report.sst_filters_pruned_keys = s.ready.pruned_keys;
  report.sst_filters_withdrawn_ranges = s.ready.withdrawn_ranges;
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
  report.attempts = joined.attempts;
  report.resumed = joined.resumed;
  report.restarted = joined.restarted;
  report.seconds = shard.seconds;
  return report;
}

}  // namespace

RangeSummary SummaryOf(const std::string& address, const RangeReport& range) {
  RangeSummary summary;
  summary.address = address;
  summary.begin = range.interval.begin;
  summary.end = range.interval.end;
  summary.equal = range.equal;
  summary.moves = MovesOf(range);
  summary.local_keys = range.keys_of_asking_side;
  summary.remote_keys = range.keys_of_answering_side;
  summary.matched_keys = range.matched_keys;
  summary.rows_received = range.rows_received;
  summary.keys_pruned = range.keys_pruned;
  summary.local_false_positives = range.false_positives_of_asking_side;
  summary.remote_false_positives = range.false_positives_of_answering_side;
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

}  // namespace rocksieve::join
