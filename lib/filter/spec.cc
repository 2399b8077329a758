// SPDX-License-Identifier: Apache-2.0
#include "lib/filter/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <rocksieve/filter_spec.h>

#include "lib/filter/family.h"

namespace rocksieve {
namespace {

constexpr double kMaxRate = 0.5;

// The percentage whose hundredth is exactly `rate`; several decimals can be, the shortest is
// wanted.
std::string Percentage(double rate) {
  double percent = rate * 100;
  for (double candidate : {percent, std::nextafter(percent, 0), std::nextafter(percent, 100)}) {
    if (candidate / 100 == rate && DecimalText(candidate).size() < DecimalText(percent).size()) {
      percent = candidate;
    }
  }
  return DecimalText(percent) + "%";
}

std::string Example(std::string_view family) {
  return "for example rocksieve." + std::string(family) + ":10 or rocksieve." +
         std::string(family) + ":1%";
}

std::string AmountError(std::string_view amount, const FamilyEntry& family) {
  return QuotedSpec(amount) + " is not an amount that rocksieve." + std::string(family.name) +
         " can serve: allowed are " + DecimalText(family.min_bits_per_key) + " to " +
         DecimalText(family.max_bits_per_key) +
         " bits per key, or a false-positive rate of 50% to " + Percentage(family.min_rate) + "; " +
         Example(family.name);
}

bool IsAllowed(const FilterSpec& spec, const FamilyEntry& family) {
  return spec.unit == FilterSpec::Unit::kFalsePositiveRate
             ? spec.amount >= family.min_rate && spec.amount <= kMaxRate
             : spec.amount >= family.min_bits_per_key && spec.amount <= family.max_bits_per_key;
}

std::string ParseAmount(std::string_view text, const FamilyEntry& family, FilterSpec* spec) {
  const bool is_rate = !text.empty() && text.back() == '%';
  double value = 0;
  if (!ParseDecimal(is_rate ? text.substr(0, text.size() - 1) : text, &value)) {
    return AmountError(text, family);
  }
  // Divided, not multiplied by 0.01, so that "0.1%" and its canonical form are the same double.
  spec->unit = is_rate ? FilterSpec::Unit::kFalsePositiveRate : FilterSpec::Unit::kBitsPerKey;
  spec->amount = is_rate ? value / 100 : value;
  return IsAllowed(*spec, family) ? "" : AmountError(text, family);
}

std::string AmountText(const FilterSpec& spec) {
  return spec.unit == FilterSpec::Unit::kBitsPerKey ? DecimalText(spec.amount)
                                                    : Percentage(spec.amount);
}

std::string FamilyError(std::string_view name) {
  return QuotedSpec(name) + " is not one of the families " + FamilyNames() + "; " +
         Example("bloom");
}

std::string ErrorPrefix(std::string_view text) {
  return QuotedSpec(text) + " is not a rocksieve filter spec: ";
}

constexpr std::string_view kPrefixes = "prefixes", kOrder = "order";
constexpr size_t kMostDepth = 255;

// "8-24" as numbers from `least` to 255, ascending; false if they are not.
bool ParseLengths(std::string_view text, size_t least, std::vector<uint8_t>* lengths) {
  for (bool more = true; more;) {
    more = text.find('-') != std::string_view::npos;
    const std::string_view digits = NextSpecPart(&text, '-');
    size_t length = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (digits.empty() || result.ec != std::errc() || result.ptr != digits.data() + digits.size() ||
        length < least || length > kMostDepth || (!lengths->empty() && length <= lengths->back())) {
      return false;
    }
    lengths->push_back(static_cast<uint8_t>(length));
  }
  return true;
}

constexpr const char* kFastAndThorough = "a build is fast or thorough, not both";

// `text` is what follows the amount, without its colon.
std::string ParseOptions(std::string_view text, const FamilyEntry& family, FilterSpec* spec) {
  const bool is_keyed = family.build_of_keys != nullptr;
  std::string error;
  for (bool more = true; more && error.empty();) {
    more = text.find(':') != std::string_view::npos;
    const std::string_view name = NextSpecPart(&text);
    if (!(is_keyed && ParseDepths(name, spec, &error)) &&
        !SetSpecOption(name, spec, &error, family.has_fast_build)) {
      error = QuotedSpec(name) + " is not one of the options " + std::string(SpecOptionNames()) +
              (family.has_fast_build ? ", fast" : "") +
              (is_keyed ? std::string(", ") + kDepthOptionNames : "");
    }
  }
  if (error.empty() && spec->fast && spec->thorough) error = kFastAndThorough;
  return error;
}

struct Option {
  std::string_view name;
  bool FilterSpec::*member;
};
constexpr Option kOptions[] = {{"fast", &FilterSpec::fast},
                               {"own-name", &FilterSpec::own_name},
                               {"salted", &FilterSpec::salted},
                               {"thorough", &FilterSpec::thorough},
                               {"verified", &FilterSpec::verified}};
constexpr std::string_view kOptionNames = "own-name, salted, thorough, verified";

}  // namespace

bool ParseDepths(std::string_view text, FilterSpec* spec, std::string* error) {
  const std::string_view name = text.substr(0, text.find('-'));
  if (name != kPrefixes && name != kOrder) return false;
  const std::string_view rest = text.substr(std::min(text.size(), name.size() + 1));
  std::vector<uint8_t> lengths;
  const bool is_order = name == kOrder;
  if (is_order ? spec->order_bytes >= 0 : spec->prefix_lengths[0] != 0) {
    *error = QuotedSpec(text) + " is there twice";
  } else if (is_order) {
    if (!ParseLengths(rest, 0, &lengths) || lengths.size() != 1) {
      *error = QuotedSpec(text) + " does not say up to how many bytes the order of keys is kept: " +
               "0 to 255, for example order-16";
      return true;
    }
    spec->order_bytes = lengths[0];
  } else {
    if (!ParseLengths(rest, 1, &lengths) || lengths.size() > spec->prefix_lengths.size()) {
      *error = QuotedSpec(text) + " does not name lengths of prefixes: one to four, ascending, " +
               "each 1 to 255 bytes, for example prefixes-8-24";
      return true;
    }
    std::copy(lengths.begin(), lengths.end(), spec->prefix_lengths.begin());
  }
  return true;
}

std::string DepthsText(const FilterSpec& spec) {
  std::string text;
  for (const uint8_t length : spec.prefix_lengths) {
    if (length == 0) break;
    if (text.empty()) text = ":" + std::string(kPrefixes);
    text += "-" + std::to_string(length);
  }
  if (spec.order_bytes >= 0)
    text += ":" + std::string(kOrder) + "-" + std::to_string(spec.order_bytes);
  return text;
}

std::string FilterSpec::Parse(std::string_view text, FilterSpec* spec) {
  const std::string prefix = ErrorPrefix(text);
  if (text.substr(0, kSpecPrefix.size()) != kSpecPrefix) {
    return prefix + "it must begin with rocksieve.FAMILY, with one of the families " +
           FamilyNames() + "; " + Example("bloom");
  }
  std::string_view rest = text.substr(kSpecPrefix.size());
  const std::string_view name = NextSpecPart(&rest);
  const FamilyEntry* family = FindFamily(name);
  if (name == "auto") {
    return prefix + "auto decides for all files of a database together, so it is a filter policy " +
           "(rocksieve::NewFilterPolicy, or filter_policy= in an option string) and cannot build " +
           "a filter on its own; take one of the families " + FamilyNames() + "; " +
           Example("ribbon");
  }
  if (family == nullptr) {
    return prefix + FamilyError(name);
  }
  FilterSpec parsed;
  parsed.family = family->family;
  const bool has_options = rest.find(':') != std::string_view::npos;
  std::string error = ParseAmount(NextSpecPart(&rest), *family, &parsed);
  if (!error.empty()) return prefix + error;
  if (has_options) {
    error = ParseOptions(rest, *family, &parsed);
    if (!error.empty())
      return prefix + error + "; for example rocksieve." + std::string(name) + ":10:salted";
  }
  *spec = parsed;
  return "";
}

std::string SpecError(const FilterSpec& spec) {
  const FamilyEntry* const family = FindFamily(spec.family);
  if (family == nullptr) return ErrorPrefix(spec.ToString()) + FamilyError("?");
  if (spec.fast && spec.thorough) return ErrorPrefix(spec.ToString()) + kFastAndThorough;
  if (spec.fast && !family->has_fast_build) {
    return ErrorPrefix(spec.ToString()) + "fast is no option of " + std::string(family->name);
  }
  if (IsAllowed(spec, *family) && spec.order_bytes <= static_cast<int>(kMostDepth)) return "";
  return ErrorPrefix(spec.ToString()) + AmountError(AmountText(spec), *family);
}

std::string FilterSpec::ToString() const {
  std::string text(kSpecPrefix);
  const FamilyEntry* entry = FindFamily(family);
  text += entry == nullptr ? "?" : entry->name;
  return text + ":" + AmountText(*this) + SpecOptionsText(*this) + DepthsText(*this);
}

std::string DecimalText(double value) {
  char text[512];  // the smallest numbers have 323 zeros before their digits
  const auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed);
  return std::string(text, result.ptr);
}

std::string QuotedSpec(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result = "\"";
  result += text.substr(0, kLongest);
  if (text.size() > kLongest) result += "...";
  return result + "\"";
}

bool ParseDecimal(std::string_view text, double* value) {
  if (text.find_first_not_of("0123456789.") != std::string_view::npos) return false;
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), *value, std::chars_format::fixed);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

std::string_view NextSpecPart(std::string_view* text, char separator) {
  const size_t end = text->find(separator);
  const std::string_view part = text->substr(0, end);
  *text = end == std::string_view::npos ? std::string_view() : text->substr(end + 1);
  return part;
}

std::string_view SpecOptionNames() { return kOptionNames; }

bool SetSpecOption(std::string_view name, FilterSpec* spec, std::string* error, bool has_fast) {
  const auto* option = std::find_if(std::begin(kOptions), std::end(kOptions),
                                    [name](const Option& o) { return o.name == name; });
  if (option == std::end(kOptions) || (option->member == &FilterSpec::fast && !has_fast)) {
    return false;
  }
  if (spec->*option->member) *error = QuotedSpec(name) + " is there twice";
  spec->*option->member = true;
  return true;
}

std::string SpecOptionsText(const FilterSpec& spec) {
  std::string text;
  for (const Option& option : kOptions) {
    if (spec.*option.member) text += ":" + std::string(option.name);
  }
  return text;
}

}  // namespace rocksieve
