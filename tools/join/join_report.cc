#include "tools/join/join_report.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/text.h"
#include "tools/join/range_table.h"

namespace rocksieve::tools {
namespace {

using Table = std::vector<std::vector<std::string>>;

double BitsPerKey(const join::ServerReport& server) {
  const uint64_t keys = server.matched_keys + server.local_only_keys;
  return keys == 0 ? 0
                   : 8 * static_cast<double>(server.wire_bytes_sent + server.wire_bytes_received) /
                         static_cast<double>(keys);
}

uint64_t BytesApartFromRows(const join::ServerReport& server) {
  return server.sent.total() + server.received.total() - server.sent.payload -
         server.received.payload;
}

std::vector<join::RangeSummary> RangesOf(const join::ServerReport& server,
                                         const std::vector<join::RangeSummary>& all) {
  std::vector<join::RangeSummary> ranges;
  std::copy_if(all.begin(), all.end(), std::back_inserter(ranges),
               [&server](const auto& range) { return range.address == server.address; });
  return ranges;
}

std::string Analysis(const join::ServerReport& s, const std::vector<join::RangeSummary>& ranges) {
  const auto row = [](const char* name, uint64_t sent, uint64_t received) {
    return std::vector<std::string>{name, Thousands(sent), Thousands(received)};
  };
  std::string text = "\n" + s.address + " (database " + s.database + ")\n";
  text += AlignedTable(Table{{"bytes", "sent", "received"},
                             row("planning", s.sent.planning, s.received.planning),
                             row("filters", s.sent.filters, s.received.filters),
                             row("verification", s.sent.verification, s.received.verification),
                             row("payload", s.sent.payload, s.received.payload),
                             row("with frames", s.wire_bytes_sent, s.wire_bytes_received)});
  text += "Bits per key of this side, payload and all: " + Fixed(BitsPerKey(s), 2) + "\n";
  text += "Ranges: " + Thousands(s.ranges) + ", of which equal " + Thousands(s.equal_ranges) +
          ", by lists " + Thousands(s.ranges_by_list) + ", by keys " + Thousands(s.ranges_by_keys) +
          ", by symbols " + Thousands(s.ranges_by_symbols) + ", by sketches " +
          Thousands(s.ranges_by_sketch) + "; repeated " + Thousands(s.repeated_ranges) +
          ". Filters: " + Thousands(s.filters) + "\n";
  text += "Filters in SST files " + s.sst_filters_note;
  if (s.sst_filters_were_used) {
    text += ", " + Thousands(s.sst_filters) + " of " + Thousands(s.sst_filter_bytes) +
            " bytes, which ruled out " + Thousands(s.sst_filters_pruned_keys) + " keys";
  }
  text += ".\n";
  text += "Keys scanned and hashed for this server: " + Thousands(s.keys_hashed) +
          "; filters built: " + Thousands(s.filters_built) +
          " (what several servers need is done for one of them).\n";
  text += "Rows received: " + Thousands(s.rows_received) + ". Seconds: " + Fixed(s.seconds, 2) +
          ". Attempts: " + Thousands(s.attempts) + ", resumed " + Thousands(s.resumed) +
          ", begun anew " + Thousands(s.restarted) + "\n";
  text += "Rows apart, this took " + Thousands(BytesApartFromRows(s)) +
          " bytes; shipping the keys of the side with fewer would have taken " +
          Thousands(s.shipped_keys_bytes) +
          ", a textbook Bloom join (10 bits per key, keys sent back) " +
          Thousands(s.textbook_bloom_join_bytes) + ".\n";
  if (!ranges.empty()) text += "\n" + RangeTable(ranges);
  return text;
}

}  // namespace

std::string TextReport(const JoinOutcome& outcome, bool analyze) {
  const join::JoinReport& report = outcome.report;
  std::string text;
  if (report.keys_are_known) {
    text += "Keys: " + Thousands(report.matched_keys) + " on both sides, " +
            Thousands(report.local_only_keys) + " only here, " +
            Thousands(report.remote_only_keys) + " only there.\n";
  }
  if (report.absent_rows_local + report.absent_rows_remote > 0) {
    text +=
        "Rows without the attribute, which match nothing: " + Thousands(report.absent_rows_local) +
        " here, " + Thousands(report.absent_rows_remote) + " there.\n";
  }
  if (outcome.operation != "count") text += "Rows: " + Thousands(outcome.rows) + ". ";
  text += "Sent " + Thousands(report.wire_bytes_sent) + " bytes, received " +
          Thousands(report.wire_bytes_received) + ", in " + Fixed(report.seconds, 2) + " s.\n";
  if (analyze) {
    for (const join::ServerReport& server : report.servers) {
      text += Analysis(server, RangesOf(server, report.range_reports));
    }
  }
  return text;
}

std::string JsonReport(const JoinOutcome& outcome, bool analyze) {
  const join::JoinReport& report = outcome.report;
  nlohmann::ordered_json json = {
      {"operation", outcome.operation}, {"rows", outcome.rows}, {"seconds", report.seconds}};
  if (report.keys_are_known) {
    json["matched_keys"] = report.matched_keys;
    json["local_only_keys"] = report.local_only_keys;
    json["remote_only_keys"] = report.remote_only_keys;
  }
  json["local_absent_rows"] = report.absent_rows_local;
  json["remote_absent_rows"] = report.absent_rows_remote;
  json["remotes"] = nlohmann::ordered_json::array();
  for (const join::ServerReport& s : report.servers) {
    json["remotes"].push_back({{"address", s.address},
                               {"database", s.database},
                               {"matched_keys", s.matched_keys},
                               {"local_only_keys", s.local_only_keys},
                               {"remote_only_keys", s.remote_only_keys},
                               {"rows_received", s.rows_received},
                               {"ranges", s.ranges},
                               {"equal_ranges", s.equal_ranges},
                               {"ranges_by_list", s.ranges_by_list},
                               {"ranges_by_keys", s.ranges_by_keys},
                               {"ranges_by_symbols", s.ranges_by_symbols},
                               {"ranges_by_sketch", s.ranges_by_sketch},
                               {"repeated_ranges", s.repeated_ranges},
                               {"filters", s.filters},
                               {"sst_filters", s.sst_filters},
                               {"sst_filter_bytes", s.sst_filter_bytes},
                               {"sst_filters_pruned_keys", s.sst_filters_pruned_keys},
                               {"sst_filters_withdrawn_ranges", s.sst_filters_withdrawn_ranges},
                               {"sst_filters_note", s.sst_filters_note},
                               {"filters_built", s.filters_built},
                               {"keys_hashed", s.keys_hashed},
                               {"keys_pruned", s.keys_pruned},
                               {"false_positives", s.false_positives},
                               {"shipped_keys_bytes", s.shipped_keys_bytes},
                               {"textbook_bloom_join_bytes", s.textbook_bloom_join_bytes},
                               {"sent", WireBytesJson(s.sent)},
                               {"received", WireBytesJson(s.received)},
                               {"wire_sent_bytes", s.wire_bytes_sent},
                               {"wire_received_bytes", s.wire_bytes_received},
                               {"attempts", s.attempts},
                               {"resumed", s.resumed},
                               {"restarted", s.restarted},
                               {"seconds", s.seconds}});
    if (analyze) {
      json["remotes"].back()["range_reports"] = RangesJson(RangesOf(s, report.range_reports));
    }
  }
  // Names and identities need not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace rocksieve::tools
