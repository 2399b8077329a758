#include "join/join_report.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "join/range_table.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using Table = std::vector<std::vector<std::string>>;

double BitsPerKey(const ShardResult& shard) {
  const join::Statistics& s = shard.report.statistics;
  const uint64_t keys = s.matched_keys + s.keys_of_asking_side_only;
  const join::WireCounts& wire = shard.report.wire;
  return keys == 0 ? 0
                   : 8 * static_cast<double>(wire.bytes_sent + wire.bytes_received) /
                         static_cast<double>(keys);
}

uint64_t BytesApartFromRows(const join::Statistics& s) {
  return s.sent.total() + s.received.total() - s.sent.payload - s.received.payload;
}

std::string Analysis(const ShardResult& shard) {
  const join::RemoteJoinReport& report = shard.report;
  const join::Statistics& s = report.statistics;
  const auto row = [](const char* name, uint64_t sent, uint64_t received) {
    return std::vector<std::string>{name, Thousands(sent), Thousands(received)};
  };
  std::string text = "\n" + shard.address + " (database " + report.database + ")\n";
  text +=
      AlignedTable(Table{{"bytes", "sent", "received"},
                         row("planning", s.sent.planning, s.received.planning),
                         row("filters", s.sent.filters, s.received.filters),
                         row("verification", s.sent.verification, s.received.verification),
                         row("payload", s.sent.payload, s.received.payload),
                         row("with frames", report.wire.bytes_sent, report.wire.bytes_received)});
  text += "Bits per key of this side, payload and all: " + Fixed(BitsPerKey(shard), 2) + "\n";
  text += "Ranges: " + Thousands(s.ranges) + ", of which equal " + Thousands(s.equal_ranges) +
          ", by lists " + Thousands(s.ranges_by_list) + ", by keys " + Thousands(s.ranges_by_keys) +
          ", by symbols " + Thousands(s.ranges_by_symbols) + ", by sketches " +
          Thousands(s.ranges_by_sketch) + "; repeated " + Thousands(s.repeated_ranges) +
          ". Filters: " + Thousands(s.filters) + "\n";
  text += "Filters in SST files " + std::string(Describe(s.ready.choice));
  if (UsesReadyFilters(s.ready.choice)) {
    text += ", " + Thousands(s.ready.filters) + " of " + Thousands(s.ready.bytes) +
            " bytes, which ruled out " + Thousands(s.ready.pruned_keys) + " keys";
  }
  text += ".\n";
  text += "Keys scanned and hashed for this server: " + Thousands(s.keys_hashed) +
          "; filters built: " + Thousands(s.filters_built) +
          " (what several servers need is done for one of them).\n";
  text += "Rows received: " + Thousands(s.rows_received) + ". Seconds: " + Fixed(shard.seconds, 2) +
          ". Attempts: " + Thousands(report.attempts) + ", resumed " + Thousands(report.resumed) +
          ", begun anew " + Thousands(report.restarted) + "\n";
  text += "Rows apart, this took " + Thousands(BytesApartFromRows(s)) +
          " bytes; shipping the keys of the side with fewer would have taken " +
          Thousands(static_cast<uint64_t>(s.shipped_keys_bytes)) +
          ", a textbook Bloom join (10 bits per key, keys sent back) " +
          Thousands(static_cast<uint64_t>(s.textbook_bloom_join_bytes)) + ".\n";
  if (!report.ranges.empty()) text += "\n" + RangeTable(report.ranges);
  return text;
}

}  // namespace

std::string TextReport(const JoinReport& report, bool analyze) {
  const JoinResult& result = report.result;
  std::string text;
  if (result.keys_are_known) {
    text += "Keys: " + Thousands(result.matched_keys) + " on both sides, " +
            Thousands(result.local_only_keys) + " only here, " +
            Thousands(result.remote_only_keys) + " only there.\n";
  }
  if (result.absent_rows_local + result.absent_rows_remote > 0) {
    text +=
        "Rows without the attribute, which match nothing: " + Thousands(result.absent_rows_local) +
        " here, " + Thousands(result.absent_rows_remote) + " there.\n";
  }
  uint64_t sent = 0, received = 0;
  for (const ShardResult& shard : result.shards) {
    sent += shard.report.wire.bytes_sent;
    received += shard.report.wire.bytes_received;
  }
  if (report.operation != join::Operation::kCount) {
    text += "Rows: " + Thousands(report.rows) + ". ";
  }
  text += "Sent " + Thousands(sent) + " bytes, received " + Thousands(received) + ", in " +
          Fixed(result.seconds, 2) + " s.\n";
  if (analyze) {
    for (const ShardResult& shard : result.shards) text += Analysis(shard);
  }
  return text;
}

std::string JsonReport(const JoinReport& report, bool analyze) {
  const JoinResult& result = report.result;
  nlohmann::ordered_json json = {{"operation", join::NameOf(report.operation)},
                                 {"rows", report.rows},
                                 {"seconds", result.seconds}};
  if (result.keys_are_known) {
    json["matched_keys"] = result.matched_keys;
    json["local_only_keys"] = result.local_only_keys;
    json["remote_only_keys"] = result.remote_only_keys;
  }
  json["local_absent_rows"] = result.absent_rows_local;
  json["remote_absent_rows"] = result.absent_rows_remote;
  json["remotes"] = nlohmann::ordered_json::array();
  for (const ShardResult& shard : result.shards) {
    const join::RemoteJoinReport& r = shard.report;
    const join::Statistics& s = r.statistics;
    json["remotes"].push_back(
        {{"address", shard.address},
         {"database", r.database},
         {"matched_keys", s.matched_keys},
         {"local_only_keys", s.keys_of_asking_side_only},
         {"remote_only_keys", s.keys_of_answering_side_only},
         {"rows_received", s.rows_received},
         {"ranges", s.ranges},
         {"equal_ranges", s.equal_ranges},
         {"ranges_by_list", s.ranges_by_list},
         {"ranges_by_keys", s.ranges_by_keys},
         {"ranges_by_symbols", s.ranges_by_symbols},
         {"ranges_by_sketch", s.ranges_by_sketch},
         {"repeated_ranges", s.repeated_ranges},
         {"filters", s.filters},
         {"sst_filters", s.ready.filters},
         {"sst_filter_bytes", s.ready.bytes},
         {"sst_filters_pruned_keys", s.ready.pruned_keys},
         {"sst_filters_withdrawn_ranges", s.ready.withdrawn_ranges},
         {"sst_filters_note", Describe(s.ready.choice)},
         {"filters_built", s.filters_built},
         {"keys_hashed", s.keys_hashed},
         {"keys_pruned", s.keys_pruned},
         {"false_positives", s.false_positives},
         {"shipped_keys_bytes", static_cast<uint64_t>(s.shipped_keys_bytes)},
         {"textbook_bloom_join_bytes", static_cast<uint64_t>(s.textbook_bloom_join_bytes)},
         {"sent", TrafficJson(s.sent)},
         {"received", TrafficJson(s.received)},
         {"wire_sent_bytes", r.wire.bytes_sent},
         {"wire_received_bytes", r.wire.bytes_received},
         {"attempts", r.attempts},
         {"resumed", r.resumed},
         {"restarted", r.restarted},
         {"seconds", shard.seconds}});
    if (analyze) json["remotes"].back()["range_reports"] = RangesJson(r.ranges);
  }
  // Names and identities need not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
