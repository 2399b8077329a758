#include "lib/filter/spec_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

namespace rocksieve {
namespace {

struct Option {
  std::string_view name;
  bool FilterSpec::*member;
};
constexpr Option kOptions[] = {{"own-name", &FilterSpec::own_name},
                               {"salted", &FilterSpec::salted},
                               {"thorough", &FilterSpec::thorough},
                               {"verified", &FilterSpec::verified}};
constexpr std::string_view kOptionNames = "own-name, salted, thorough, verified";

}  // namespace

std::string DecimalText(double value) {
  char text[64];
  const auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  // Only numbers that no spec may have are that long.
  return result.ec == std::errc() ? std::string(text, result.ptr) : "?";
}

std::string QuotedSpec(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result = "\"";
  result += text.substr(0, kLongest);
  if (text.size() > kLongest) result += "...";
  return result + "\"";
}

bool ParseDecimal(std::string_view text, double* value) {
  bool digits = false, point = false;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      digits = true;
    } else if (c == '.' && !point) {
      point = true;
    } else {
      return false;
    }
  }
  if (!digits) return false;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

std::string_view NextSpecPart(std::string_view* text) {
  const size_t colon = text->find(':');
  const std::string_view part = text->substr(0, colon);
  *text = colon == std::string_view::npos ? std::string_view() : text->substr(colon + 1);
  return part;
}

std::string_view SpecOptionNames() { return kOptionNames; }

OptionState SetSpecOption(std::string_view name, FilterSpec* spec) {
  const auto* option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                    [name](const Option& o) { return o.name == name; });
  if (option == std::end(kOptions)) return OptionState::kUnknown;
  if (spec->*option->member) return OptionState::kTwice;
  spec->*option->member = true;
  return OptionState::kSet;
}

std::string SpecOptionsText(const FilterSpec& spec) {
  std::string text;
  for (const Option& option : kOptions) {
    if (spec.*option.member) text += ":" + std::string(option.name);
  }
  return text;
}

}  // namespace rocksieve
