#include "lib/join/join_key/json_numbers.h"

#include <algorithm>

#include "lib/join/join_key/decimal.h"

namespace rocksieve::join {
namespace {

bool TakeOneOf(std::string_view characters, std::string_view* text) {
  if (text->empty() || characters.find(text->front()) == std::string_view::npos) return false;
  text->remove_prefix(1);
  return true;
}

// By the grammar of RFC 8259: no leading zeros, digits on both sides of a point.
bool IsNumber(std::string_view text) {
  TakeOneOf("-", &text);
  if (!TakeOneOf("0", &text) && TakeDigits(&text).empty()) return false;
  if (TakeOneOf(".", &text) && TakeDigits(&text).empty()) return false;
  if (TakeOneOf("eE", &text)) {
    TakeOneOf("+-", &text);
    if (TakeDigits(&text).empty()) return false;
  }
  return text.empty();
}

}  // namespace

std::string_view JsonNumbers::Next() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      SkipString();
    } else if (c == '-' || IsDigit(c)) {
      const size_t end = std::min(text_.find_first_not_of("0123456789+-.eE", at_), text_.size());
      const std::string_view number = text_.substr(at_, end - at_);
      at_ = end;
      return number;
    } else {
      at_++;
    }
  }
  return {};
}

void JsonNumbers::SkipString() {
  for (at_++; at_ < text_.size() && text_[at_] != '"'; at_++) {
    if (text_[at_] == '\\') at_++;
  }
  at_++;
}

std::string WithoutNumbers(std::string_view json) {
  std::string without(json);
  JsonNumbers numbers(json);
  for (std::string_view number = numbers.Next(); !number.empty(); number = numbers.Next()) {
    if (!IsNumber(number)) continue;
    const auto begin = without.begin() + (number.data() - json.data());
    *begin = '0';
    std::fill(begin + 1, begin + static_cast<ptrdiff_t>(number.size()), ' ');
  }
  return without;
}

}  // namespace rocksieve::join
