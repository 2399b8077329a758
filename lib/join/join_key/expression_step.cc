#include "lib/join/join_key/expression_step.h"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <absl/strings/str_cat.h>

#include "lib/join/join_key/decimal.h"
#include "lib/join/join_key/json_pointer.h"

namespace rocksieve::join {
namespace {

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
  absl::StatusOr<JsonPointer> pointer = JsonPointer::Parse(arguments[0]);
  if (!pointer.ok()) return pointer.status();
  ParsedStep step;
  step.arguments = arguments;
  step.apply = [pointer = *std::move(pointer)](std::string_view in, std::string* out) {
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

}  // namespace

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

}  // namespace rocksieve::join
