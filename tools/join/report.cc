// SPDX-License-Identifier: Apache-2.0
#include "tools/join/report.h"

#include <algorithm>
#include <sstream>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

using join::JoinPlan;
using join::RangeSummary;
using Kind = Column::Kind;

Json WireBytesJson(const join::WireBytes& bytes) {
  return {{"planning_bytes", bytes.planning},
          {"filter_bytes", bytes.filters},
          {"verification_bytes", bytes.verification},
          {"payload_bytes", bytes.payload}};
}

Json RangesJson(const std::string& address, const std::vector<RangeSummary>& ranges) {
  Json json = Json::array();
  for (const RangeSummary& r : ranges) {
    if (r.address != address) continue;
    Json moves = Json::array();
    if (r.moves != "equal" && r.moves != "none") {
      std::istringstream words(r.moves);
      for (std::string move; words >> move;) moves.push_back(move);
    }
    json.push_back({{"first_key", PrintableKey(r.begin)},
                    {"end_key", r.end ? Json(PrintableKey(*r.end)) : Json()},
                    {"equal", r.equal},
                    {"strategies", moves},
                    {"local_keys", r.local_keys},
                    {"remote_keys", r.remote_keys},
                    {"matched_keys", r.matched_keys},
                    {"rows_received", r.rows_received},
                    {"keys_pruned", r.keys_pruned},
                    {"local_false_positives", r.local_false_positives},
                    {"remote_false_positives", r.remote_false_positives},
                    {"repeats", r.repeats},
                    {"round_trips", r.round_trips},
                    {"milliseconds", 1000 * r.seconds},
                    {"sent", WireBytesJson(r.sent)},
                    {"received", WireBytesJson(r.received)},
                    {"shipped_keys_bytes", r.shipped_keys_bytes},
                    {"textbook_bloom_join_bytes", r.textbook_bloom_join_bytes}});
  }
  return json;
}

Json ServerJson(const join::ServerReport& s) {
  return {{"address", s.address},
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
          {"seconds", s.seconds}};
}

// How many such ranges the whole join has.
double RangesOf(const JoinPlan& plan) {
  const auto share = [](uint64_t all, uint64_t some) {
    return some == 0 ? 0 : static_cast<double>(all) / static_cast<double>(some);
  };
  return std::max(1.0, std::max(share(plan.local_keys, plan.range_local_keys),
                                share(plan.remote_keys, plan.range_remote_keys)));
}

uint64_t Bytes(const JoinPlan& plan, const JoinPlan::Strategy& cost) {
  return static_cast<uint64_t>(cost.bits / 8 * RangesOf(plan));
}

double BitsPerKey(const JoinPlan& plan, const JoinPlan::Strategy& cost) {
  return cost.bits / static_cast<double>(std::max<uint64_t>(1, plan.range_local_keys));
}

// Bytes apart from rows, as the parts of messages that --json names.
constexpr const char* kParts[] = {"planning", "filters", "verification", "payload"};
constexpr const char* kPartFields[] = {"planning_bytes", "filter_bytes", "verification_bytes",
                                       "payload_bytes"};

std::string ShortKey(const Json& key) {
  constexpr size_t kMost = 24;
  const auto text = key.get<std::string>();
  if (text.empty()) return "(first key)";
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

std::string MovesOf(const Json& range) {
  if (range["strategies"].is_null()) return "";  // of all ranges
  std::string moves;
  for (const Json& move : range["strategies"]) {
    moves += (moves.empty() ? "" : " ") + move.get<std::string>();
  }
  if (!moves.empty()) return moves;
  return range["equal"] ? "equal" : "none";
}

// Adds the numbers of a range to those of all.
void AddNumbers(const Json& range, Json* sum) {
  for (const auto& [field, value] : range.items()) {
    Json& total = (*sum)[field];
    if (value.is_object()) {
      AddNumbers(value, &total);
    } else if (value.is_number()) {
      const bool whole = value.is_number_integer();
      total = whole ? Json(total.is_null() ? value.get<uint64_t>()
                                           : total.get<uint64_t>() + value.get<uint64_t>())
                    : Json(total.is_null() ? value.get<double>()
                                           : total.get<double>() + value.get<double>());
    }
  }
}

// Sent and received.
template <size_t kPart>
std::string BothWays(const Json& range) {
  const std::string field = kPartFields[kPart];
  return Filled("{/sent/" + field + "}/{/received/" + field + "}", range);
}

std::string RangeTable(Json ranges) {
  if (ranges.size() > 1) {
    Json sum;
    for (const Json& range : ranges) AddNumbers(range, &sum);
    sum.update({{"first_key", "all"}, {"equal", false}, {"strategies", nullptr}});
    ranges.push_back(sum);
  }
  const auto false_positives = [](const Json& range) {
    return Filled("{local_false_positives}/{remote_false_positives}", range);
  };
  return ForPeople({{"first_key", "", "range from", Kind::kText, 0, ShortKey},
                    {"local_keys", "", "keys here", Kind::kFixed, 0},
                    {"remote_keys", "", "there", Kind::kFixed, 0},
                    {"matched_keys", "", "both", Kind::kFixed, 0},
                    {"", "", kParts[0], Kind::kFixed, 0, BothWays<0>, 4},
                    {"", "", kParts[1], Kind::kFixed, 0, BothWays<1>, 6},
                    {"", "", kParts[2], Kind::kFixed, 0, BothWays<2>, 7},
                    {"", "", kParts[3], Kind::kFixed, 0, BothWays<3>, 8},
                    {"keys_pruned", "", "pruned", Kind::kFixed, 0, nullptr, 5},
                    {"", "", "false positives", Kind::kFixed, 0, false_positives, 3},
                    {"repeats", "", "repeats", Kind::kFixed, 0, nullptr, 1},
                    {"round_trips", "", "trips", Kind::kFixed, 0, nullptr, 2},
                    {"milliseconds", "", "ms", Kind::kFixed, 1, nullptr, 9},
                    {"", "", "strategy", Kind::kText, 0, MovesOf}},
                   ranges) +
         "Bytes are sent/received. Pruned: keys here that filters from there dropped. Passed in\n"
         "vain: keys here/there that passed all filters and are not on the other side.\n";
}

std::string BytesTable(const Json& server) {
  Json rows = Json::array();
  for (size_t i = 0; i < std::size(kParts); i++) {
    rows.push_back({{"name", kParts[i]},
                    {"sent", server["sent"][kPartFields[i]]},
                    {"received", server["received"][kPartFields[i]]}});
  }
  rows.push_back({{"name", "with frames"},
                  {"sent", server["wire_sent_bytes"]},
                  {"received", server["wire_received_bytes"]}});
  return ForPeople({{"name", "", "bytes", Kind::kText},
                    {"sent", "", "sent", Kind::kFixed, 0},
                    {"received", "", "received", Kind::kFixed, 0}},
                   rows);
}

std::string Analysis(Json s) {
  uint64_t apart_from_rows = 0;
  for (size_t i = 0; i + 1 < std::size(kParts); i++) {
    for (const char* way : {"sent", "received"}) {
      apart_from_rows += s[way][kPartFields[i]].get<uint64_t>();
    }
  }
  const auto keys = s["matched_keys"].get<double>() + s["local_only_keys"].get<double>();
  const double wire = s["wire_sent_bytes"].get<double>() + s["wire_received_bytes"].get<double>();
  s["bits_per_key"] = keys == 0 ? 0 : 8 * wire / keys;
  s["bytes_apart_from_rows"] = apart_from_rows;
  const bool sst_filters_were_used = s["sst_filters_note"].get<std::string>().rfind("used", 0) == 0;
  return Filled("\n{address} (database {database})\n", s) + BytesTable(s) +
         Filled(
             "Bits per key of this side, payload and all: {bits_per_key:.2}\n"
             "Ranges: {ranges}, of which equal {equal_ranges}, by lists {ranges_by_list}, by "
             "keys {ranges_by_keys}, by symbols {ranges_by_symbols}, by sketches "
             "{ranges_by_sketch}; repeated {repeated_ranges}. Filters: {filters}\n"
             "Filters in SST files {sst_filters_note}",
             s) +
         Filled(sst_filters_were_used
                    ? ", {sst_filters} of {sst_filter_bytes} bytes, which ruled out "
                      "{sst_filters_pruned_keys} keys.\n"
                    : ".\n",
                s) +
         Filled(
             "Keys scanned and hashed for this server: {keys_hashed}; filters built: "
             "{filters_built} (what several servers need is done for one of them).\n"
             "Rows received: {rows_received}. Seconds: {seconds:.2}. Attempts: {attempts}, "
             "resumed {resumed}, begun anew {restarted}\n"
             "Rows apart, this took {bytes_apart_from_rows} bytes; shipping the keys of the side "
             "with fewer would have taken {shipped_keys_bytes}, a textbook Bloom join (10 bits "
             "per key, keys sent back) {textbook_bloom_join_bytes}.\n",
             s) +
         (s["range_reports"].empty() ? "" : "\n" + RangeTable(s["range_reports"]));
}

std::string ServerPlan(const Json& plan) {
  const std::string text = Filled(
      "{address}: about {local_keys} keys here, {remote_keys} there. Of the first range "
      "{range_local_keys} here, {range_remote_keys} there, about {range_common_keys} common.\n",
      plan);
  if (plan["range_is_equal"]) {
    return text + "The range is equal on both sides, which costs some 100 bytes.\n";
  }
  if (plan["strategies"].empty()) return text + "One side has no keys there: nothing is sent.\n";
  return text +
         ForPeople({{"name", "", "strategy", Kind::kText},
                    {"bytes", "", "bytes", Kind::kFixed, 0},
                    {"bits_per_local_key", "", "bits per key here"}},
                   plan["strategies"]) +
         Filled("Estimates for all ranges, rows apart. Begins with: {first_move}.\n", plan) +
         (plan["keys_are_as_cheap"]
              ? "Shipping the keys costs about as little: any other tool that "
                "compares sorted lists will do.\n"
              : "");
}

}  // namespace

Json JoinDocument(const JoinOutcome& outcome, bool analyze) {
  const join::JoinReport& report = outcome.report;
  Json json = {
      {"operation", outcome.operation}, {"rows", outcome.rows}, {"seconds", report.seconds}};
  if (report.keys_are_known) {
    json["matched_keys"] = report.matched_keys;
    json["local_only_keys"] = report.local_only_keys;
    json["remote_only_keys"] = report.remote_only_keys;
  }
  json["local_absent_rows"] = report.absent_rows_local;
  json["remote_absent_rows"] = report.absent_rows_remote;
  json["remotes"] = Json::array();
  for (const join::ServerReport& s : report.servers) {
    json["remotes"].push_back(ServerJson(s));
    if (analyze) {
      json["remotes"].back()["range_reports"] = RangesJson(s.address, report.range_reports);
    }
  }
  return json;
}

Json PlanDocument(const std::vector<JoinPlan>& plans) {
  Json remotes = Json::array();
  for (const JoinPlan& plan : plans) {
    Json strategies = Json::array();
    for (const JoinPlan::Strategy& cost : plan.strategies) {
      strategies.push_back({{"name", cost.name},
                            {"bytes", Bytes(plan, cost)},
                            {"bits_per_local_key", BitsPerKey(plan, cost)}});
    }
    remotes.push_back({{"address", plan.address},
                       {"local_keys", plan.local_keys},
                       {"remote_keys", plan.remote_keys},
                       {"range_local_keys", plan.range_local_keys},
                       {"range_remote_keys", plan.range_remote_keys},
                       {"range_common_keys", plan.range_common_keys},
                       {"range_is_equal", plan.range_is_equal},
                       {"first_move", plan.first_move},
                       {"keys_are_as_cheap", plan.keys_are_as_cheap},
                       {"strategies", strategies}});
  }
  return {{"remotes", remotes}};
}

std::string JoinInWords(const Json& document, bool analyze) {
  std::string text;
  if (document.contains("matched_keys")) {
    text += Filled(
        "Keys: {matched_keys} on both sides, {local_only_keys} only here, {remote_only_keys} only "
        "there.\n",
        document);
  }
  if (document["local_absent_rows"] != 0 || document["remote_absent_rows"] != 0) {
    text += Filled(
        "Rows with a NULL key, which match nothing: {local_absent_rows} here, "
        "{remote_absent_rows} there.\n",
        document);
  }
  uint64_t sent = 0, received = 0;
  for (const Json& server : document["remotes"]) {
    sent += server["wire_sent_bytes"].get<uint64_t>();
    received += server["wire_received_bytes"].get<uint64_t>();
  }
  if (document["operation"] != "count") text += Filled("Rows: {rows}. ", document);
  text += "Sent " + Thousands(sent) + " bytes, received " + Thousands(received) +
          Filled(", in {seconds:.2} s.\n", document);
  if (!analyze) return text;
  for (const Json& server : document["remotes"]) text += Analysis(server);
  return text;
}

std::string PlanInWords(const Json& document) {
  std::string text;
  for (const Json& plan : document["remotes"]) {
    text += (text.empty() ? "" : "\n") + ServerPlan(plan);
  }
  return text;
}

}  // namespace rocksieve::tools
