#include "join/range_table.h"

#include <nlohmann/json.hpp>

#include "inspect/printable.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using join::RangeReport;

constexpr size_t kMostKeyColumns = 24;

std::string ShortKey(const std::string& key) {
  const std::string text = PrintableKey(key);
  return text.size() <= kMostKeyColumns ? text : text.substr(0, kMostKeyColumns - 3) + "...";
}

// Sent and received.
std::string BothWays(uint64_t sent, uint64_t received) {
  return Thousands(sent) + "/" + Thousands(received);
}

std::vector<std::string> Line(const std::string& name, const RangeReport& r,
                              const std::string& moves) {
  return {name,
          Thousands(r.keys_of_asking_side),
          Thousands(r.keys_of_answering_side),
          Thousands(r.matched_keys),
          BothWays(r.sent.planning, r.received.planning),
          BothWays(r.sent.filters, r.received.filters),
          BothWays(r.sent.verification, r.received.verification),
          BothWays(r.sent.payload, r.received.payload),
          Thousands(r.keys_pruned),
          BothWays(r.false_positives_of_asking_side, r.false_positives_of_answering_side),
          Thousands(r.repeats),
          Thousands(r.round_trips),
          Fixed(r.milliseconds, 1),
          moves};
}

void Add(const join::Traffic& more, join::Traffic* sum) {
  sum->planning += more.planning;
  sum->filters += more.filters;
  sum->verification += more.verification;
  sum->payload += more.payload;
}

RangeReport Sum(const std::vector<RangeReport>& ranges) {
  RangeReport sum;
  for (const RangeReport& r : ranges) {
    sum.keys_of_asking_side += r.keys_of_asking_side;
    sum.keys_of_answering_side += r.keys_of_answering_side;
    sum.matched_keys += r.matched_keys;
    sum.keys_pruned += r.keys_pruned;
    sum.false_positives_of_asking_side += r.false_positives_of_asking_side;
    sum.false_positives_of_answering_side += r.false_positives_of_answering_side;
    sum.repeats += r.repeats;
    sum.round_trips += r.round_trips;
    sum.milliseconds += r.milliseconds;
    Add(r.sent, &sum.sent);
    Add(r.received, &sum.received);
  }
  return sum;
}

}  // namespace

std::string RangeTable(const std::vector<RangeReport>& ranges) {
  std::vector<std::vector<std::string>> table = {
      {"range from", "keys here", "there", "both", "planning", "filters", "verification", "payload",
       "pruned", "passed in vain", "repeats", "trips", "ms", "strategy"}};
  for (const RangeReport& range : ranges) {
    table.push_back(
        Line(range.interval.begin.empty() ? "(first key)" : ShortKey(range.interval.begin), range,
             MovesOf(range)));
  }
  if (ranges.size() > 1) table.push_back(Line("all", Sum(ranges), ""));
  return AlignedTable(table) +
         "Bytes are sent/received. Pruned: keys here that filters from there dropped. Passed in\n"
         "vain: keys here/there that passed all filters and are not on the other side.\n";
}

nlohmann::ordered_json TrafficJson(const join::Traffic& traffic) {
  return {{"planning_bytes", traffic.planning},
          {"filter_bytes", traffic.filters},
          {"verification_bytes", traffic.verification},
          {"payload_bytes", traffic.payload}};
}

nlohmann::ordered_json RangesJson(const std::vector<RangeReport>& ranges) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const RangeReport& r : ranges) {
    nlohmann::ordered_json moves = nlohmann::ordered_json::array();
    for (const join::MoveKind move : r.moves) moves.push_back(std::string(NameOf(move)));
    json.push_back(
        {{"first_key", PrintableKey(r.interval.begin)},
         {"end_key", r.interval.end ? nlohmann::ordered_json(PrintableKey(*r.interval.end))
                                    : nlohmann::ordered_json()},
         {"equal", r.equal},
         {"strategies", moves},
         {"local_keys", r.keys_of_asking_side},
         {"remote_keys", r.keys_of_answering_side},
         {"matched_keys", r.matched_keys},
         {"rows_received", r.rows_received},
         {"keys_pruned", r.keys_pruned},
         {"local_false_positives", r.false_positives_of_asking_side},
         {"remote_false_positives", r.false_positives_of_answering_side},
         {"repeats", r.repeats},
         {"round_trips", r.round_trips},
         {"milliseconds", r.milliseconds},
         {"sent", TrafficJson(r.sent)},
         {"received", TrafficJson(r.received)},
         {"shipped_keys_bytes", static_cast<uint64_t>(ShippedKeysBytes(r))},
         {"textbook_bloom_join_bytes", static_cast<uint64_t>(TextbookBloomJoinBytes(r))}});
  }
  return json;
}

}  // namespace rocksieve::tools
