#include "lib/join/join_key/join_key_expression.h"

#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/expression_step.h"

namespace rocksieve::join {
namespace {

constexpr std::string_view kForms =
    "It is key or value and steps, each a dot, a name and arguments in parentheses, such as "
    "value.json(/customer/id), value.field(|,3), key.bytes(0,8)";

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
    const absl::StatusOr<std::vector<std::string>> arguments = parser.TakeArguments();
    if (!arguments.ok()) return arguments.status();
    absl::StatusOr<ParsedStep> step = MakeStep(name, *arguments);
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
