// SPDX-License-Identifier: Apache-2.0
#include "lib/join/join_key/join_key_expression.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/join_key_source.h"
#include "lib/join/join_key/json_pointer.h"
#include "support/return_if_error.h"

namespace rocksieve::join {
namespace {

constexpr std::string_view kForms =
    "It is key or value and steps, each a dot, a name and arguments in parentheses, such as "
    "value.json(/customer/id), value.field(|,3), key.bytes(0,8); or row, for both";

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool IsNameByte(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Reads the text from left to right; what fails says so in error().
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), rest_(text) {}

  bool done() const { return rest_.empty(); }
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  bool Take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view TakeName() {
    size_t bytes = 0;
    while (bytes < rest_.size() && IsNameByte(rest_[bytes])) bytes++;
    const std::string_view name = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return name;
  }

  // What stands before the closing parenthesis, which is taken.
  absl::StatusOr<std::vector<std::string>> TakeArguments() {
    std::vector<std::string> arguments(1);
    for (;;) {
      if (done()) return Error("a closing parenthesis is missing");
      const char c = next();
      rest_.remove_prefix(1);
      if (c == ')') return arguments;
      if (c == ',') {
        arguments.emplace_back();
      } else if (c != '\\') {
        arguments.back().push_back(c);
      } else if (!TakeEscaped(&arguments.back())) {
        return Error("after a backslash stands one of \\ , ( ) t n, or x and two hex digits");
      }
    }
  }

  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text_), "\" is no join key expression, from byte ",
                     text_.size() - rest_.size(), " on: ", std::string(what)));
  }

 private:
  bool TakeEscaped(std::string* to) {
    const char c = next();
    if (done()) return false;
    rest_.remove_prefix(1);
    if (c == '\\' || c == ',' || c == '(' || c == ')') {
      to->push_back(c);
    } else if (c == 't') {
      to->push_back('\t');
    } else if (c == 'n') {
      to->push_back('\n');
    } else if (c == 'x' && rest_.size() >= 2 && HexDigit(rest_[0]) >= 0 &&
               HexDigit(rest_[1]) >= 0) {
      to->push_back(static_cast<char>(HexDigit(rest_[0]) * 16 + HexDigit(rest_[1])));
      rest_.remove_prefix(2);
    } else {
      return false;
    }
    return true;
  }

  const std::string_view text_;
  std::string_view rest_;
};

void AppendEscaped(std::string_view argument, std::string* out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : argument) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\\' || c == ',' || c == '(' || c == ')') {
      out->append({'\\', c});
    } else if (c == '\t' || c == '\n') {
      out->append({'\\', c == '\t' ? 't' : 'n'});
    } else if (byte < 0x20 || byte >= 0x7f) {
      out->append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
    } else {
      out->push_back(c);
    }
  }
}

// Gives `out`, which is not `in`; false if there is nothing.
using StepFunction = std::function<bool(std::string_view in, std::string* out)>;

struct ParsedStep {
  StepFunction apply;
  std::vector<std::string> arguments;  // in their canonical form
};

using Arguments = std::vector<std::string>;

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number > INT32_MAX || number < -int64_t{INT32_MAX}) return std::nullopt;
  return number;
}

absl::StatusOr<ParsedStep> MakeBytes(const Arguments& arguments) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "takes an offset, which counts from the end if negative, and a length of at least 1, or "
      "only an offset for all that follows: bytes(2,8), bytes(-8), bytes(0)");
  if (arguments.empty() || arguments.size() > 2) return wrong;
  const std::optional<int64_t> offset = WholeNumber(arguments[0]);
  std::optional<int64_t> length;
  if (arguments.size() == 2) length = WholeNumber(arguments[1]);
  if (!offset || (arguments.size() == 2 && (!length || *length < 1))) return wrong;
  ParsedStep step;
  step.arguments.push_back(std::to_string(*offset));
  if (length) step.arguments.push_back(std::to_string(*length));
  step.apply = [offset = *offset, length](std::string_view in, std::string* out) {
    const auto size = static_cast<int64_t>(in.size());
    const int64_t begin = offset >= 0 ? offset : size + offset;
    if (begin < 0 || begin > size || (length && *length > size - begin)) return false;
    out->assign(
        in.substr(static_cast<size_t>(begin), static_cast<size_t>(length.value_or(size - begin))));
    return true;
  };
  return step;
}

absl::StatusOr<ParsedStep> MakeField(const Arguments& arguments) {
  const absl::Status wrong = absl::InvalidArgumentError(
      "takes a delimiter of one or more bytes and the number of a field, counted from 1: "
      "field(|,3), field(\\t,1), field(\\,,2)");
  if (arguments.size() != 2 || arguments[0].empty()) return wrong;
  const std::optional<int64_t> number = WholeNumber(arguments[1]);
  if (!number || *number < 1) return wrong;
  ParsedStep step;
  step.arguments = {arguments[0], std::to_string(*number)};
  step.apply = [delimiter = arguments[0], number = *number](std::string_view in, std::string* out) {
    for (int64_t i = 1; i < number; i++) {
      const size_t at = in.find(delimiter);
      if (at == std::string_view::npos) return false;
      in.remove_prefix(at + delimiter.size());
    }
    out->assign(in.substr(0, in.find(delimiter)));
    return true;
  };
  return step;
}

absl::StatusOr<ParsedStep> MakeJson(const Arguments& arguments) {
  if (arguments.size() != 1) {
    return absl::InvalidArgumentError(
        "takes one JSON pointer, in which \\, is a comma: "
        "json(/customer/id), json(/items/0)");
  }
  ASSIGN_OR_RETURN(JsonPointer pointer, JsonPointer::Parse(arguments[0]));
  ParsedStep step;
  step.arguments = arguments;
  step.apply = [pointer = std::move(pointer)](std::string_view in, std::string* out) {
    return pointer.Find(in, out);
  };
  return step;
}

// Binary numbers of 1 to 8 bytes.
template <bool kBigEndian>
bool ReadUint(std::string_view in, std::string* out) {
  if (in.empty() || in.size() > 8) return false;
  uint64_t number = 0;
  for (size_t i = 0; i < in.size(); i++) {
    number = number << 8 | static_cast<uint8_t>(in[kBigEndian ? i : in.size() - 1 - i]);
  }
  out->assign(std::to_string(number));
  return true;
}

absl::StatusOr<ParsedStep> MakeWithoutArguments(const Arguments& arguments, StepFunction apply) {
  // "()" is parsed as one empty argument.
  if (arguments.size() > 1 || (arguments.size() == 1 && !arguments[0].empty())) {
    return absl::InvalidArgumentError("takes nothing between its parentheses");
  }
  return ParsedStep{std::move(apply), {}};
}

// By its name; `arguments` without escapes. The error is half a sentence: what is wrong with them.
absl::StatusOr<ParsedStep> MakeStep(std::string_view name, const Arguments& arguments) {
  if (name == "bytes") return MakeBytes(arguments);
  if (name == "field") return MakeField(arguments);
  if (name == "json") return MakeJson(arguments);
  if (name == "number") return MakeWithoutArguments(arguments, CanonicalDecimal);
  if (name == "uint_be") return MakeWithoutArguments(arguments, ReadUint<true>);
  if (name == "uint_le") return MakeWithoutArguments(arguments, ReadUint<false>);
  return absl::InvalidArgumentError(
      "is not known; there are bytes, field, json, number, uint_be and uint_le");
}

void AppendStep(std::string_view name, const ParsedStep& step, std::string* text) {
  text->append(".").append(name).append("(");
  for (size_t i = 0; i < step.arguments.size(); i++) {
    if (i > 0) text->push_back(',');
    AppendEscaped(step.arguments[i], text);
  }
  text->push_back(')');
}

ExtractFunction InOrder(bool of_value, std::vector<StepFunction> steps) {
  return [of_value, steps = std::move(steps)](const Row& row, std::string* join_key) {
    const std::string_view whole = of_value ? row.value : row.key;
    if (steps.empty()) {
      join_key->assign(whole);
      return true;
    }
    if (!steps.front()(whole, join_key)) return false;
    for (size_t i = 1; i < steps.size(); i++) {
      const std::string before = std::exchange(*join_key, std::string());
      if (!steps[i](before, join_key)) return false;
    }
    return true;
  };
}

}  // namespace

JoinKeyExpression::JoinKeyExpression(std::string name, ExtractFunction function)
    : text_(std::move(name)), extract_(std::move(function)) {}

JoinKeyExpression JoinKeyExpression::KeyOfWholeRow() {
  JoinKeyExpression key;
  key.text_ = kKeyOfWholeRow;
  return key;
}

absl::StatusOr<JoinKeyExpression> JoinKeyExpression::Parse(std::string_view text,
                                                           const NamedExtractors& named) {
  if (!text.empty() && text.front() == '@') {
    const auto function = named.find(text.substr(1));
    if (function != named.end()) return JoinKeyExpression(std::string(text), function->second);
    std::string known;
    for (const auto& [name, unused] : named) {
      absl::StrAppend(&known, known.empty() ? "@" : ", @", name);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("no function ", std::string(text), " is registered in this program; there ",
                     known.empty() ? "are none" : absl::StrCat("is ", known)));
  }
  if (IsWholeRow(text)) {
    return JoinKeyExpression(std::string(text), [](const Row& row, std::string* join_key) {
      WholeRowJoinKey(row, join_key);
      return true;
    });
  }
  Parser parser(text);
  const std::string_view whole = parser.TakeName();
  if (whole != "key" && whole != "value") return Parser(text).Error(kForms);
  std::string canonical(whole);
  std::vector<StepFunction> steps;
  size_t key_prefix_bytes = 0;
  while (!parser.done()) {
    if (parser.next() == '[') {
      return parser.Error("a part of it is written key.bytes(OFFSET,LENGTH), as in key.bytes(2,8)");
    }
    const Parser before = parser;
    if (!parser.Take('.')) return parser.Error(kForms);
    const std::string_view name = parser.TakeName();
    if (!parser.Take('(')) return before.Error(kForms);
    ASSIGN_OR_RETURN(const std::vector<std::string> arguments, parser.TakeArguments());
    absl::StatusOr<ParsedStep> step = MakeStep(name, arguments);
    if (!step.ok()) {
      return before.Error(absl::StrCat(std::string(name), " ", step.status().message()));
    }
    const std::vector<std::string>& canonical_arguments = step->arguments;
    key_prefix_bytes = 0;
    if (steps.empty() && whole == "key" && name == "bytes" && canonical_arguments.size() == 2 &&
        canonical_arguments[0] == "0") {
      key_prefix_bytes = std::stoull(canonical_arguments[1]);
    }
    AppendStep(name, *step, &canonical);
    steps.push_back(std::move(step->apply));
  }
  JoinKeyExpression expression(std::move(canonical), InOrder(whole == "value", std::move(steps)));
  expression.key_prefix_bytes_ = key_prefix_bytes;
  return expression;
}

}  // namespace rocksieve::join
