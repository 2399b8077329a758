// SPDX-License-Identifier: Apache-2.0
#include "tools/report/join_file.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "tools/report/html.h"

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
const Json& ShapeOfBytes() {
  static const Json shape = {
      {"planning_bytes", 0}, {"filter_bytes", 0}, {"verification_bytes", 0}, {"payload_bytes", 0}};
  return shape;
}

const Json& ShapeOfJoin() {
  static const Json range = {{"first_key", ""},
                             {"equal", false},
                             {"strategies", Json::array({""})},
                             {"local_keys", 0},
                             {"remote_keys", 0},
                             {"matched_keys", 0},
                             {"keys_pruned", 0},
                             {"local_false_positives", 0},
                             {"remote_false_positives", 0},
                             {"repeats", 0},
                             {"round_trips", 0},
                             {"milliseconds", 0.5},
                             {"sent", ShapeOfBytes()},
                             {"received", ShapeOfBytes()}};
  static const Json server = {{"address", ""},
                              {"matched_keys", 0},
                              {"local_only_keys", 0},
                              {"remote_only_keys", 0},
                              {"rows_received", 0},
                              {"ranges", 0},
                              {"equal_ranges", 0},
                              {"ranges_by_list", 0},
                              {"ranges_by_keys", 0},
                              {"ranges_by_symbols", 0},
                              {"ranges_by_sketch", 0},
                              {"repeated_ranges", 0},
                              {"filters", 0},
                              {"sst_filters", 0},
                              {"sst_filter_bytes", 0},
                              {"sst_filters_pruned_keys", 0},
                              {"sst_filters_note", ""},
                              {"shipped_keys_bytes", 0},
                              {"textbook_bloom_join_bytes", 0},
                              {"sent", ShapeOfBytes()},
                              {"received", ShapeOfBytes()},
                              {"wire_sent_bytes", 0},
                              {"wire_received_bytes", 0},
                              {"attempts", 0},
                              {"seconds", 0.5},
                              {"range_reports?", Json::array({range})}};
  static const Json join = {{"operation", ""},
                            {"rows", 0},
                            {"seconds", 0.5},
                            {"matched_keys?", 0},
                            {"local_only_keys?", 0},
                            {"remote_only_keys?", 0},
                            {"remotes", Json::array({server})}};
  return join;
}

const Json& ShapeOfPlan() {
  static const Json strategy = {{"name", ""}, {"bytes", 0}, {"bits_per_local_key", 0.5}};
  static const Json server = {{"address", ""},
                              {"local_keys", 0},
                              {"remote_keys", 0},
                              {"range_local_keys", 0},
                              {"range_remote_keys", 0},
                              {"range_common_keys", 0},
                              {"range_is_equal", false},
                              {"first_move", ""},
                              {"keys_are_as_cheap", false},
                              {"strategies", Json::array({strategy})}};
  static const Json plan = {{"remotes", Json::array({server})}};
  return plan;
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
  if (!Copied(document, file->is_plan ? ShapeOfPlan() : ShapeOfJoin(), "", &file->document, &why)) {
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

}  // namespace rocksieve::tools
