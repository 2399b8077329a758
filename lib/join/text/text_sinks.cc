// SPDX-License-Identifier: Apache-2.0
#include "lib/join/text/text_sinks.h"

#include <cstdint>

#include <absl/strings/escaping.h>
#include <nlohmann/json.hpp>

#include "support/text.h"

namespace rocksieve::join {
namespace {

std::string_view NameOf(Side side) { return side == Side::kClient ? "local" : "remote"; }

// Neither longer forms than needed, nor surrogates, nor beyond U+10FFFF (RFC 3629, section 4).
bool IsUtf8(std::string_view bytes) {
  const auto at = [bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t first = at(i++);
    if (first < 0x80) continue;
    const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || bytes.size() - i < more) return false;
    const uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at(i) < least || at(i) > most) return false;
    for (size_t j = 1; j < more; j++) {
      if ((at(i + j) & 0xc0) != 0x80) return false;
    }
    i += more;
  }
  return true;
}

}  // namespace

void AppendJsonMember(std::string_view name, std::string_view bytes, std::string* object) {
  if (object->back() != '{') object->push_back(',');
  object->append("\"").append(name);
  if (IsUtf8(bytes)) {
    object->append("\":").append(nlohmann::json(bytes).dump());
    return;
  }
  const std::string base64 = absl::Base64Escape(absl::string_view(bytes.data(), bytes.size()));
  object->append("_base64\":\"").append(base64).append("\"");
}

absl::Status TextSink::Add(const Row& row, Side from) {
  line_.clear();
  AppendLine(row, from, &line_);
  return file_->Append(line_);
}

void TsvSink::AppendLine(const Row& row, Side from, std::string* line) const {
  if (shows_sides()) line->append(NameOf(from)).push_back('\t');
  AppendEscapedText(row.key, line);
  line->push_back('\t');
  AppendEscapedText(row.value, line);
  line->push_back('\n');
}

void JsonLinesSink::AppendLine(const Row& row, Side from, std::string* line) const {
  line->append("{");
  if (shows_sides()) AppendJsonMember("side", NameOf(from), line);
  AppendJsonMember("key", row.key, line);
  AppendJsonMember("value", row.value, line);
  line->append("}\n");
}

}  // namespace rocksieve::join
