#include "lib/join/text/tsv.h"

#include <algorithm>

namespace rocksieve::join {
namespace {

// What stands behind a backslash for a byte, and the bytes in the same order.
constexpr std::string_view kLetters = "\\tnr0";
constexpr std::string_view kBytes("\\\t\n\r\0", 5);

bool Unescape(std::string_view text, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '\\') {
      bytes->push_back(text[i]);
      continue;
    }
    const size_t which = ++i < text.size() ? kLetters.find(text[i]) : std::string_view::npos;
    if (which == std::string_view::npos) return false;
    bytes->push_back(kBytes[which]);
  }
  return true;
}

}  // namespace

void AppendEscapedForTsv(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const size_t plain = std::min(bytes.find_first_of(kBytes), bytes.size());
    out->append(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    out->push_back('\\');
    out->push_back(kLetters[kBytes.find(bytes.front())]);
    bytes.remove_prefix(1);
  }
}

bool LineParser::Parse(std::string_view line, Row* row) {
  const size_t tab = line.find('\t');
  row->key = line.substr(0, tab);
  row->value = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
  if (format_ == TextFormat::kPlain) return true;
  if (!Unescape(row->key, &key_) || !Unescape(row->value, &value_)) return false;
  row->key = key_;
  row->value = value_;
  return true;
}

}  // namespace rocksieve::join
