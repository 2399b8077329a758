#include "tools/join/range_table.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "support/printable.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using join::RangeSummary;

constexpr size_t kMostKeyColumns = 24;

std::string ShortKey(const std::string& key) {
  const std::string text = PrintableKey(key);
  return text.size() <= kMostKeyColumns ? text : text.substr(0, kMostKeyColumns - 3) + "...";
}

// Sent and received.
std::string BothWays(uint64_t sent, uint64_t received) {
  return Thousands(sent) + "/" + Thousands(received);
}

std::vector<std::string> Line(const std::string& name, const RangeSummary& r,
                              const std::string& moves) {
  return {name,
          Thousands(r.local_keys),
          Thousands(r.remote_keys),
          Thousands(r.matched_keys),
          BothWays(r.sent.planning, r.received.planning),
          BothWays(r.sent.filters, r.received.filters),
          BothWays(r.sent.verification, r.received.verification),
          BothWays(r.sent.payload, r.received.payload),
          Thousands(r.keys_pruned),
          BothWays(r.local_false_positives, r.remote_false_positives),
          Thousands(r.repeats),
          Thousands(r.round_trips),
          Fixed(1000 * r.seconds, 1),
          moves};
}

void Add(const join::WireBytes& more, join::WireBytes* sum) {
  sum->planning += more.planning;
  sum->filters += more.filters;
  sum->verification += more.verification;
  sum->payload += more.payload;
}

RangeSummary Sum(const std::vector<RangeSummary>& ranges) {
  RangeSummary sum;
  for (const RangeSummary& r : ranges) {
    sum.local_keys += r.local_keys;
    sum.remote_keys += r.remote_keys;
    sum.matched_keys += r.matched_keys;
    sum.keys_pruned += r.keys_pruned;
    sum.local_false_positives += r.local_false_positives;
    sum.remote_false_positives += r.remote_false_positives;
    sum.repeats += r.repeats;
    sum.round_trips += r.round_trips;
    sum.seconds += r.seconds;
    Add(r.sent, &sum.sent);
    Add(r.received, &sum.received);
  }
  return sum;
}

}  // namespace

std::string RangeTable(const std::vector<RangeSummary>& ranges) {
  std::vector<std::vector<std::string>> table = {
      {"range from", "keys here", "there", "both", "planning", "filters", "verification", "payload",
       "pruned", "passed in vain", "repeats", "trips", "ms", "strategy"}};
  for (const RangeSummary& range : ranges) {
    table.push_back(
        Line(range.begin.empty() ? "(first key)" : ShortKey(range.begin), range, range.moves));
  }
  if (ranges.size() > 1) table.push_back(Line("all", Sum(ranges), ""));
  return AlignedTable(table) +
         "Bytes are sent/received. Pruned: keys here that filters from there dropped. Passed in\n"
         "vain: keys here/there that passed all filters and are not on the other side.\n";
}

nlohmann::ordered_json WireBytesJson(const join::WireBytes& bytes) {
  return {{"planning_bytes", bytes.planning},
          {"filter_bytes", bytes.filters},
          {"verification_bytes", bytes.verification},
          {"payload_bytes", bytes.payload}};
}

nlohmann::ordered_json RangesJson(const std::vector<RangeSummary>& ranges) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RangeSummary& r : ranges) {
    nlohmann::ordered_json moves = nlohmann::ordered_json::array();
    if (r.moves != "equal" && r.moves != "none") {
      std::istringstream words(r.moves);
      for (std::string move; words >> move;) moves.push_back(move);
    }
    json.push_back({{"first_key", PrintableKey(r.begin)},
                    {"end_key", r.end ? nlohmann::ordered_json(PrintableKey(*r.end))
                                      : nlohmann::ordered_json()},
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

}  // namespace rocksieve::tools
