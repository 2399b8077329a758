#include "join/text_sink.h"

#include <nlohmann/json.hpp>

#include "join/packed_row.h"
#include "join/tsv.h"

namespace rocksieve::tools {
namespace {

bool IsUtf8(const std::string& text) {
  try {
    nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// "key", or "key_hex" for bytes that are no text.
void AddField(const std::string& name, std::string_view bytes, nlohmann::ordered_json* object) {
  std::string text(bytes);
  if (IsUtf8(text)) {
    (*object)[name] = std::move(text);
    return;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  (*object)[name + "_hex"] = std::move(hex);
}

}  // namespace

absl::Status TextSink::Add(const join::Row& row, join::Side from) {
  const bool local = from == join::Side::kAsking;
  const char* const side = local ? "local" : "remote";
  const bool packed = local ? options_.local_is_packed : options_.remote_is_packed;
  join::Row whole = row;
  if (packed && !join::UnpackRow(row.value, &whole)) {
    return absl::DataLossError("a row came without its key: do both sides run this version?");
  }
  line_.clear();
  if (options_.format == LineFormat::kJson) {
    nlohmann::ordered_json object;
    if (options_.name_side) object["side"] = side;
    if (packed) AddField("attribute", row.key, &object);
    AddField("key", whole.key, &object);
    AddField("value", whole.value, &object);
    line_ = object.dump();
  } else {
    if (options_.name_side) line_.append(side).push_back('\t');
    join::AppendEscapedForTsv(whole.key, &line_);
    line_.push_back('\t');
    join::AppendEscapedForTsv(whole.value, &line_);
  }
  line_.push_back('\n');
  return file_->Append(line_);
}

}  // namespace rocksieve::tools
