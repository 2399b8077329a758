// SPDX-License-Identifier: Apache-2.0
#include "tools/report/html.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;  // of 10,000 ranges
constexpr int kMostDepth = 16;
constexpr size_t kMostServers = 100, kMostText = 200;

const char kRemedy[] =
    "; make one by rocksieve join ... --op=count --explain=analyze --json > FILE, or its plan by "
    "rocksieve join ... --explain --json > FILE";

// Documents with a value of its type for each key that is read: 0 a whole number that is not
// negative, 0.5 any number that is not negative, "" text, false a truth value; an array has one
// such element. A key with a question mark may be missing.
constexpr char kBytesShape[] =
    R"({"planning_bytes": 0, "filter_bytes": 0, "verification_bytes": 0, "payload_bytes": 0})";
constexpr char kJoinShape[] = R"({
    "operation": "", "rows": 0, "seconds": 0.5, "matched_keys?": 0, "local_only_keys?": 0,
    "remote_only_keys?": 0,
    "remotes": [{
        "address": "", "matched_keys": 0, "local_only_keys": 0, "remote_only_keys": 0,
        "rows_received": 0, "ranges": 0, "equal_ranges": 0, "ranges_by_list": 0,
        "ranges_by_keys": 0, "ranges_by_symbols": 0, "ranges_by_sketch": 0, "repeated_ranges": 0,
        "filters": 0, "sst_filters": 0, "sst_filter_bytes": 0, "sst_filters_pruned_keys": 0,
        "sst_filters_note": "", "shipped_keys_bytes": 0, "textbook_bloom_join_bytes": 0,
        "sent": BYTES, "received": BYTES, "wire_sent_bytes": 0, "wire_received_bytes": 0,
        "attempts": 0, "seconds": 0.5,
        "range_reports?": [{
            "first_key": "", "equal": false, "strategies": [""], "local_keys": 0, "remote_keys": 0,
            "matched_keys": 0, "keys_pruned": 0, "local_false_positives": 0,
            "remote_false_positives": 0, "repeats": 0, "round_trips": 0, "milliseconds": 0.5,
            "sent": BYTES, "received": BYTES}]}]})";
constexpr char kPlanShape[] = R"({
    "remotes": [{
        "address": "", "local_keys": 0, "remote_keys": 0, "range_local_keys": 0,
        "range_remote_keys": 0, "range_common_keys": 0, "range_is_equal": false, "first_move": "",
        "keys_are_as_cheap": false,
        "strategies": [{"name": "", "bytes": 0, "bits_per_local_key": 0.5}]}]})";

Json ShapeOf(bool is_plan) {
  std::string text = is_plan ? kPlanShape : kJoinShape;
  constexpr std::string_view kName = "BYTES";
  for (size_t at = 0; (at = text.find(kName, at)) != std::string::npos;) {
    text.replace(at, kName.size(), kBytesShape);
  }
  return Json::parse(text);
}

bool Copied(const Json& value, const Json& shape, const std::string& where, Json* copy,
            std::string* error);

bool CopiedObject(const Json& value, const Json& shape, const std::string& where, Json* copy,
                  std::string* error) {
  *copy = Json::object();
  for (const auto& [field, its_shape] : shape.items()) {
    const bool may_miss = field.back() == '?';
    const std::string name = may_miss ? field.substr(0, field.size() - 1) : field;
    const auto found = value.find(name);
    if (found == value.end() && may_miss) continue;
    if (found == value.end()) {
      *error = where + "/" + name + " is missing";
      return false;
    }
    if (!Copied(*found, its_shape, where + "/" + name, &(*copy)[name], error)) return false;
  }
  return true;
}

// Of what is there, what the shape has.
bool Copied(const Json& value, const Json& shape, const std::string& where, Json* copy,
            std::string* error) {
  const auto is = [&](bool right, const char* what) {
    if (!right) *error = where + " is not " + what;
    return right;
  };
  if (shape.is_object()) {
    return is(value.is_object(), "an object") && CopiedObject(value, shape, where, copy, error);
  }
  if (shape.is_array()) {
    if (!is(value.is_array(), "an array")) return false;
    *copy = Json::array();
    for (size_t i = 0; i < value.size(); i++) {
      const std::string place = where + "/" + std::to_string(i);
      if (!Copied(value[i], shape[0], place, &copy->emplace_back(), error)) return false;
    }
    return true;
  }
  if (shape.is_string()) {
    if (!is(value.is_string(), "text")) return false;
    *copy = Shown(value.get<std::string>(), kMostText);
    return true;
  }
  *copy = value;
  if (shape.is_boolean()) return is(value.is_boolean(), "true or false");
  if (shape.is_number_integer()) return is(value.is_number_unsigned(), "a whole number from 0 on");
  return is(value.is_number() && value.get<double>() >= 0, "a number from 0 on");
}

// An exception of the parser is what it says of an input that is none.
bool Parsed(const std::string& text, Json* document, std::string* error) {
  bool too_deep = false;
  const auto limit = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMostDepth;
    return !too_deep;
  };
  try {
    *document = Json::parse(text, limit);
  } catch (const Json::exception& exception) {
    *error = "is no JSON document: " + Shown(exception.what(), kMostText);
    return false;
  }
  if (too_deep) *error = "is nested too deeply";
  return !too_deep;
}

using Kind = Column::Kind;

constexpr size_t kMostRanges = 50;  // that the page shows

// The parts of messages, as --json has them.
struct Step {
  const char* field;
  const char* name;
};
constexpr Step kSteps[] = {{"planning_bytes", "planning: opening ranges, estimates"},
                           {"filter_bytes", "filters"},
                           {"verification_bytes", "verification: lists, sketches, symbols"},
                           {"payload_bytes", "payload: rows"}};

double Number(const Json& object, const char* field) { return object[field].get<double>(); }

std::string Bytes(double bytes) { return Fixed(bytes, 0) + " B"; }

std::string StrategiesOf(const Json& range) {
  std::string text;
  for (const Json& name : range["strategies"]) {
    text += (text.empty() ? "" : " ") + name.get<std::string>();
  }
  return !text.empty() ? text : range["equal"].get<bool>() ? "equal" : "none";
}

template <size_t kStep>
std::string BothWays(const Json& range) {
  const std::string field = kSteps[kStep].field;
  return Filled("{/sent/" + field + "} / {/received/" + field + "}", range);
}

std::string FirstKey(const Json& key) {
  constexpr size_t kMost = 32;
  const auto text = key.get<std::string>();
  return text.empty() ? "(first key)" : Shown(text, kMost);
}

Html RangesTable(const Json& ranges) {
  Json shown = Json::array();
  for (size_t i = 0; i < std::min(ranges.size(), kMostRanges); i++) shown.push_back(ranges[i]);
  Html table = HtmlTable("Ranges of keys, in their order; bytes are sent / received",
                         {{"first_key", "range", "from", Kind::kText, 0, FirstKey},
                          {"local_keys", "keys", "here", Kind::kFixed, 0},
                          {"remote_keys", "keys", "there", Kind::kFixed, 0},
                          {"matched_keys", "on", "both", Kind::kFixed, 0},
                          {"", "planning", "", Kind::kFixed, 0, BothWays<0>},
                          {"", "filters", "", Kind::kFixed, 0, BothWays<1>},
                          {"", "verification", "", Kind::kFixed, 0, BothWays<2>},
                          {"", "payload", "", Kind::kFixed, 0, BothWays<3>},
                          {"round_trips", "round", "trips", Kind::kFixed, 0},
                          {"milliseconds", "ms", "", Kind::kFixed, 1},
                          {"", "strategy", "", Kind::kText, 0, StrategiesOf}},
                         shown);
  if (ranges.size() > kMostRanges) {
    table += Element("p", {{"class", "soft"}},
                     "... and " + Counted(ranges.size() - kMostRanges, "range") +
                         " more, which the document has.");
  }
  return table;
}

Html StepsChart(const Json& server) {
  std::vector<Bar> bars;
  for (size_t i = 0; i < std::size(kSteps); i++) {
    const double sent = Number(server["sent"], kSteps[i].field);
    const double received = Number(server["received"], kSteps[i].field);
    bars.push_back({kSteps[i].name, sent, Bytes(sent) + " sent, " + Bytes(received) + " received",
                    ClassOfSeries(i), received});
  }
  const double sent = Number(server, "wire_sent_bytes");
  const double received = Number(server, "wire_received_bytes");
  bars.push_back({"in all, with gRPC's frames", sent,
                  Bytes(sent) + " sent, " + Bytes(received) + " received", "c7", received, -1,
                  true});
  return BarChart("Bytes by step: what was sent, and in lighter colour what was received",
                  {"step", "bytes", ""}, bars);
}

// Rows apart, which every way of joining has to send.
Html ComparisonChart(const Json& server) {
  double here = 0;
  for (size_t i = 0; i + 1 < std::size(kSteps); i++) {
    here += Number(server["sent"], kSteps[i].field) + Number(server["received"], kSteps[i].field);
  }
  const auto bar = [](const char* name, double bytes, bool strong) {
    return Bar{name, bytes, Bytes(bytes), strong ? "c3" : "c7", 0, -1, strong};
  };
  return BarChart(
      "Beside other ways to find the same, rows apart", {"way", "bytes", ""},
      {bar("this join", here, true),
       bar("shipping the keys of the side with fewer", Number(server, "shipped_keys_bytes"), false),
       bar("a textbook Bloom join: 10 bits per key, keys sent back",
           Number(server, "textbook_bloom_join_bytes"), false)});
}

Html RangesChart(const Json& server) {
  std::vector<Bar> bars;
  const std::pair<const char*, const char*> kWays[] = {
      {"equal_ranges", "equal on both sides"}, {"ranges_by_list", "by lists of hashes"},
      {"ranges_by_keys", "by keys"},           {"ranges_by_symbols", "by symbols"},
      {"ranges_by_sketch", "by sketches"},     {"repeated_ranges", "repeated"}};
  for (const auto& [field, name] : kWays) {
    const double count = Number(server, field);
    if (count > 0) bars.push_back({name, count, Counted(server[field], "range")});
  }
  if (bars.empty()) return {};
  return BarChart("How " + Counted(server["ranges"], "range") + " of keys were reconciled",
                  {"way", "ranges", ""}, bars);
}

Html ServerOfJoin(const Json& server) {
  Html html = Element("h3", Filled("Server {address}", server));
  std::string words = Filled(
      "Keys: {matched_keys} on both sides, {local_only_keys} only here, {remote_only_keys} only "
      "there. Rows received: {rows_received}. Seconds: {seconds:.2}. Connections: {attempts}.",
      server);
  html += Element("p", words) + StepsChart(server) + ComparisonChart(server) + RangesChart(server);
  html += Element("p", Filled("Filters that went over the wire: {filters}; existing SST filters "
                              "among them: {sst_filters} of {sst_filter_bytes} bytes, which ruled "
                              "out {sst_filters_pruned_keys} keys ({sst_filters_note}).",
                              server));
  const auto ranges = server.find("range_reports");
  if (ranges != server.end() && !ranges->empty()) html += RangesTable(*ranges);
  return html;
}

Html ServerOfPlan(const Json& server) {
  Html html = Element("h3", Filled("Server {address}", server));
  html += Element(
      "p", Filled("About {local_keys} keys here, {remote_keys} there. Of the first range "
                  "{range_local_keys} here, {range_remote_keys} there, about {range_common_keys} "
                  "common.",
                  server));
  if (server["range_is_equal"].get<bool>()) {
    return html + Element("p", "The range is equal on both sides, which costs some 100 bytes.");
  }
  if (server["strategies"].empty()) {
    return html + Element("p", "One side has no keys there: nothing is sent.");
  }
  std::vector<Bar> bars;
  for (const Json& strategy : server["strategies"]) {
    const bool first = strategy["name"] == "auto";
    bars.push_back({strategy["name"].get<std::string>(), Number(strategy, "bytes"),
                    Filled("{bytes} B, {bits_per_local_key:.2} bits per key here", strategy),
                    first ? "c3" : "c7", 0, -1, first});
  }
  html +=
      BarChart("What each strategy would send and receive: estimates for all ranges, rows apart",
               {"strategy", "bytes", ""}, bars);
  html += Element("p", Filled("The join begins with: {first_move}.", server));
  if (server["keys_are_as_cheap"].get<bool>()) {
    html += Element("p",
                    "Shipping the keys costs about as little: any other tool that compares sorted "
                    "lists will do.");
  }
  return html;
}

}  // namespace

bool ParseJoinFile(const std::string& text, JoinFile* file, std::string* error) {
  Json document;
  std::string why;
  const auto fail = [&](const std::string& what) {
    *error = what + kRemedy;
    return false;
  };
  if (!Parsed(text, &document, &why)) return fail(why);
  if (!document.is_object() || !document.contains("remotes")) {
    return fail("is not of rocksieve join --json: it has no \"remotes\"");
  }
  file->is_plan = !document.contains("operation");
  if (!Copied(document, ShapeOf(file->is_plan), "", &file->document, &why)) {
    return fail("is not of rocksieve join --json: " + why);
  }
  if (file->document["remotes"].size() > kMostServers) {
    return fail("has more than " + std::to_string(kMostServers) + " servers");
  }
  return true;
}

bool ReadJoinFile(const std::string& path, JoinFile* file, std::string* error) {
  file->path = path;
  const auto cannot = [&](const std::string& why) {
    *error = "--join: cannot read " + path + ": " + why;
    return false;
  };
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return cannot("it is a directory");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return cannot(std::strerror(errno));
  std::string text;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof(buffer)) || stream.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(stream.gcount()));
    if (text.size() > kMostBytes) return cannot("it has more than 16 MiB");
  }
  if (stream.bad()) return cannot("the system fails to read it");
  std::string why;
  if (ParseJoinFile(text, file, &why)) return true;
  *error = "--join: " + path + " " + why;
  return false;
}

Html JoinSection(size_t number, const JoinFile& file) {
  const Json& document = file.document;
  const std::string id = "join-" + std::to_string(number);
  Html html = Element("h2", {{"id", id}},
                      file.is_plan ? "Plan of a join" : Filled("Join: {operation}", document));
  html += Element("p", {{"class", "soft"}}, "From " + Shown(file.path));
  if (!file.is_plan) {
    std::string words;
    if (document["remotes"].size() > 1 && document.contains("matched_keys") &&
        document.contains("local_only_keys") && document.contains("remote_only_keys")) {
      words =
          "Keys: {matched_keys} on both sides, {local_only_keys} only here, "
          "{remote_only_keys} only there. ";
    }
    if (document["operation"] != "count") words += "Rows of the result: {rows}. ";
    html += Element("p", Filled(words + "Seconds: {seconds:.2}.", document));
  }
  for (const Json& server : document["remotes"]) {
    html += file.is_plan ? ServerOfPlan(server) : ServerOfJoin(server);
  }
  return Element("section", {{"aria-labelledby", id}}, html);
}

}  // namespace rocksieve::tools
