#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include <rocksieve/filter_spec.h>

#include "filter/family.h"

namespace rocksieve {
namespace {

constexpr std::string_view kPrefix = "rocksieve.";
constexpr double kMaxRate = 0.5;

struct Option {
  std::string_view name;
  bool FilterSpec::*member;
};
constexpr Option kOptions[] = {{"own-name", &FilterSpec::own_name},
                               {"salted", &FilterSpec::salted},
                               {"thorough", &FilterSpec::thorough},
                               {"verified", &FilterSpec::verified}};
constexpr std::string_view kOptionNames = "own-name, salted, thorough, verified";

// Shortest decimal that reads back as the same number, without an exponent.
std::string Decimal(double value) {
  char text[64];
  const auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  // Only numbers that no spec may have are that long.
  return result.ec == std::errc() ? std::string(text, result.ptr) : "?";
}

// The percentage whose hundredth is exactly `rate`; several decimals can be, the shortest is
// wanted.
std::string Percentage(double rate) {
  double percent = rate * 100;
  for (double candidate : {percent, std::nextafter(percent, 0), std::nextafter(percent, 100)}) {
    if (candidate / 100 == rate && Decimal(candidate).size() < Decimal(percent).size()) {
      percent = candidate;
    }
  }
  return Decimal(percent) + "%";
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result = "\"";
  result += text.substr(0, kLongest);
  if (text.size() > kLongest) result += "...";
  return result + "\"";
}

// Digits, perhaps a point and more digits; nothing else, so neither signs nor exponents nor "nan".
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

// Cuts off and returns what stands before the first colon.
std::string_view NextPart(std::string_view* text) {
  const size_t colon = text->find(':');
  const std::string_view part = text->substr(0, colon);
  *text = colon == std::string_view::npos ? std::string_view() : text->substr(colon + 1);
  return part;
}

std::string Example(std::string_view family) {
  return "for example rocksieve." + std::string(family) + ":10 or rocksieve." +
         std::string(family) + ":1%";
}

std::string AmountError(std::string_view amount, const FamilyEntry& family) {
  return Quoted(amount) + " is not an amount that rocksieve." + std::string(family.name) +
         " can serve: allowed are " + Decimal(family.min_bits_per_key) + " to " +
         Decimal(family.max_bits_per_key) + " bits per key, or a false-positive rate of 50% to " +
         Percentage(family.min_rate) + "; " + Example(family.name);
}

std::string ParseAmount(std::string_view text, const FamilyEntry& family, FilterSpec* spec) {
  const bool is_rate = !text.empty() && text.back() == '%';
  double value = 0;
  if (!ParseDecimal(is_rate ? text.substr(0, text.size() - 1) : text, &value)) {
    return AmountError(text, family);
  }
  if (is_rate) {
    // Divided, not multiplied by 0.01, so that "0.1%" and its canonical form are the same double.
    spec->unit = FilterSpec::Unit::kFalsePositiveRate;
    spec->amount = value / 100;
    if (!(spec->amount >= family.min_rate && spec->amount <= kMaxRate))
      return AmountError(text, family);
  } else {
    spec->unit = FilterSpec::Unit::kBitsPerKey;
    spec->amount = value;
    if (!(value >= family.min_bits_per_key && value <= family.max_bits_per_key)) {
      return AmountError(text, family);
    }
  }
  return "";
}

// `text` is what follows the amount, without its colon.
std::string ParseOptions(std::string_view text, FilterSpec* spec) {
  for (bool more = true; more;) {
    more = text.find(':') != std::string_view::npos;
    const std::string_view name = NextPart(&text);
    const auto* option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                      [name](const Option& o) { return o.name == name; });
    if (option == std::end(kOptions)) {
      return Quoted(name) + " is not one of the options " + std::string(kOptionNames);
    }
    if (spec->*option->member) return Quoted(name) + " is there twice";
    spec->*option->member = true;
  }
  return "";
}

}  // namespace

std::string FilterSpec::Parse(std::string_view text, FilterSpec* spec) {
  const std::string prefix = Quoted(text) + " is not a rocksieve filter spec: ";
  if (text.substr(0, kPrefix.size()) != kPrefix) {
    return prefix + "it must begin with rocksieve.FAMILY, with one of the families " +
           std::string(FamilyNames()) + "; " + Example("bloom");
  }
  std::string_view rest = text.substr(kPrefix.size());
  const std::string_view name = NextPart(&rest);
  const FamilyEntry* family = FindFamily(name);
  if (family == nullptr) {
    return prefix + Quoted(name) + " is not one of the families " + std::string(FamilyNames()) +
           "; " + Example("bloom");
  }
  FilterSpec parsed;
  parsed.family = family->family;
  const bool has_options = rest.find(':') != std::string_view::npos;
  std::string error = ParseAmount(NextPart(&rest), *family, &parsed);
  if (!error.empty()) return prefix + error;
  if (has_options) {
    error = ParseOptions(rest, &parsed);
    if (!error.empty())
      return prefix + error + "; for example rocksieve." + std::string(name) + ":10:salted";
  }
  *spec = parsed;
  return "";
}

std::string FilterSpec::ToString() const {
  std::string text(kPrefix);
  const FamilyEntry* entry = FindFamily(family);
  text += entry == nullptr ? "?" : entry->name;
  text += ":";
  text += unit == Unit::kBitsPerKey ? Decimal(amount) : Percentage(amount);
  for (const Option& option : kOptions) {
    if (this->*option.member) text += ":" + std::string(option.name);
  }
  return text;
}

}  // namespace rocksieve
