#include "tools/join/report.h"

#include <algorithm>
#include <sstream>

#include "support/printable.h"

namespace rocksieve::tools {
namespace {

using join::JoinPlan;
using join::RangeSummary;

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

}  // namespace rocksieve::tools
