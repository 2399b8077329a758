// SPDX-License-Identifier: Apache-2.0
#include "lib/join/join_key/json_pointer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace rocksieve::join {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostZeros = 20;
constexpr int64_t kMostExponent = int64_t{1} << 40;
constexpr int kNumberOverflow = 406;  // the parser's id of the error

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes the digits at the front of *text.
std::string_view TakeDigits(std::string_view* text) {
  size_t count = 0;
  while (count < text->size() && IsDigit((*text)[count])) count++;
  const std::string_view digits = text->substr(0, count);
  text->remove_prefix(count);
  return digits;
}

bool TakeSign(std::string_view* text) {
  const bool minus = !text->empty() && text->front() == '-';
  if (minus || (!text->empty() && text->front() == '+')) text->remove_prefix(1);
  return minus;
}

// The exponent behind an e; false if that is none, or beyond reason.
bool TakeExponent(std::string_view* text, int64_t* exponent) {
  *exponent = 0;
  if (text->empty() || (text->front() != 'e' && text->front() != 'E')) return true;
  text->remove_prefix(1);
  const bool minus = TakeSign(text);
  const std::string_view digits = TakeDigits(text);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), *exponent);
  if (digits.empty() || error != std::errc() || *exponent > kMostExponent) return false;
  if (minus) *exponent = -*exponent;
  return true;
}

// The numbers in a JSON text, in their order, as they are written: the parser makes doubles of
// them, in which different ones would become equal, and refuses those beyond doubles. Of text that
// is no JSON it gives what looks like numbers.
class JsonNumbers {
 public:
  // The text must outlive it.
  explicit JsonNumbers(std::string_view text) : text_(text) {}

  // Empty if there are no more.
  std::string_view Next() {
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

 private:
  void SkipString() {
    for (at_++; at_ < text_.size() && text_[at_] != '"'; at_++) {
      if (text_[at_] == '\\') at_++;
    }
    at_++;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

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

// The same text with a 0 in the place of each number, and spaces behind it. What is no JSON stays
// none.
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

// Follows a pointer through the events of the parser.
class Finder final : public nlohmann::json_sax<Json> {
 public:
  // The numbers are those of `json`, whatever the parser says. All must outlive it.
  Finder(const std::vector<std::string>& names, std::string_view json, std::string* scalar)
      : names_(names), scalar_(scalar), numbers_(json) {}
  bool found() const { return found_; }
  // Whether the parser gave up at a number that is no finite double.
  bool overflowed() const { return overflowed_; }

  bool null() override {
    return Value([] { return false; });
  }
  bool boolean(bool value) override {
    return Value([&] { return Found(value ? "true" : "false"); });
  }
  bool number_integer(number_integer_t) override { return Number(); }
  bool number_unsigned(number_unsigned_t) override { return Number(); }
  bool number_float(number_float_t, const std::string&) override { return Number(); }
  bool string(std::string& value) override {
    return Value([&] { return Found(value); });
  }
  bool binary(binary_t&) override { return false; }

  bool start_object(size_t) override { return Start(/*array=*/false); }
  bool start_array(size_t) override { return Start(/*array=*/true); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }
  bool key(std::string& name) override {
    if (depth_ == path_.size()) path_.back().at_member = name == names_[depth_ - 1];
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    overflowed_ = error.id == kNumberOverflow;
    return false;
  }

 private:
  // An object or array on the path, whose member the path goes on with is known by the name or the
  // index that comes next.
  struct Level {
    bool array = false;
    bool at_member = false;
    uint64_t index = 0;
  };

  bool Found(std::string_view value) {
    scalar_->assign(value);
    return true;
  }

  // Whether the value that comes is the document itself, or what the path goes on with.
  bool IsOnPath() {
    if (depth_ == 0) return true;
    if (depth_ != path_.size()) return false;
    Level& level = path_.back();
    if (level.array) level.at_member = std::to_string(level.index++) == names_[depth_ - 1];
    return level.at_member;
  }

  // What comes later counts, so an earlier member of the same name is forgotten.
  template <typename Take>
  bool Value(const Take& take) {
    if (IsOnPath()) found_ = depth_ == names_.size() && take();
    return true;
  }

  bool Number() {
    const std::string_view text = numbers_.Next();
    return Value([&] { return CanonicalDecimal(text, scalar_); });
  }

  bool Start(bool array) {
    if (IsOnPath()) {
      found_ = false;
      if (depth_ < names_.size()) path_.push_back({array});
    }
    depth_++;
    return true;
  }

  bool End() {
    depth_--;
    if (path_.size() > depth_) path_.pop_back();
    return true;
  }

  const std::vector<std::string>& names_;
  std::string* const scalar_;
  JsonNumbers numbers_;
  bool found_ = false, overflowed_ = false;
  size_t depth_ = 0;  // of all objects and arrays that are open
  std::vector<Level> path_;
};

}  // namespace

bool CanonicalDecimal(std::string_view text, std::string* canonical) {
  const bool minus = TakeSign(&text);
  std::string digits(TakeDigits(&text));
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(&text);
  }
  int64_t exponent = 0;
  if ((digits.empty() && fraction.empty()) || !TakeExponent(&text, &exponent) || !text.empty()) {
    return false;
  }
  // The number is 0.DIGITS times ten to the power of `point`, without zeros at either end.
  digits += fraction;
  int64_t point = static_cast<int64_t>(digits.size() - fraction.size()) + exponent;
  const size_t leading = digits.find_first_not_of('0');
  canonical->clear();
  if (leading == std::string::npos) {
    canonical->push_back('0');
    return true;
  }
  digits.erase(0, leading);
  point -= static_cast<int64_t>(leading);
  digits.erase(digits.find_last_not_of('0') + 1);
  const auto count = static_cast<int64_t>(digits.size());

  if (minus) canonical->push_back('-');
  if (point >= count && point - count <= kMostZeros) {
    canonical->append(digits).append(static_cast<size_t>(point - count), '0');
  } else if (point > 0 && point < count) {
    canonical->append(digits, 0, static_cast<size_t>(point)).push_back('.');
    canonical->append(digits, static_cast<size_t>(point));
  } else if (point <= 0 && -point <= kMostZeros) {
    canonical->append("0.").append(static_cast<size_t>(-point), '0').append(digits);
  } else {
    canonical->push_back(digits.front());
    if (count > 1) canonical->append(".").append(digits, 1);
    canonical->append(point > 0 ? "e+" : "e").append(std::to_string(point - 1));
  }
  return true;
}

absl::StatusOr<JsonPointer> JsonPointer::Parse(std::string_view text) {
  JsonPointer pointer;
  if (text.empty()) return pointer;
  if (text.front() != '/') {
    return absl::InvalidArgumentError(
        "takes a JSON pointer, which begins with a slash (/customer/id) or is empty");
  }
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '/') {
      pointer.names_.emplace_back();
    } else if (text[i] != '~') {
      pointer.names_.back().push_back(text[i]);
    } else if (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')) {
      pointer.names_.back().push_back(text[++i] == '0' ? '~' : '/');
    } else {
      return absl::InvalidArgumentError(
          "takes a JSON pointer, in which a tilde is written ~0, and a slash in a name ~1");
    }
  }
  return pointer;
}

bool JsonPointer::Find(std::string_view json, std::string* scalar) const {
  if (json.find('\0') != std::string_view::npos)
    return false;  // the end of the text for the parser
  Finder finder(names_, json, scalar);
  if (Json::sax_parse(json.begin(), json.end(), &finder)) return finder.found();
  if (!finder.overflowed()) return false;
  // The parser has no way around a number beyond doubles, so it gets the text without numbers.
  const std::string without = WithoutNumbers(json);
  Finder again(names_, json, scalar);
  return Json::sax_parse(without.begin(), without.end(), &again) && again.found();
}

}  // namespace rocksieve::join
