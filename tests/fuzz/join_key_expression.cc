// SPDX-License-Identifier: Apache-2.0
// What rows are joined on: expressions from a command line, JSON values of rows; and rows as lines
// of text. The first byte chooses which.
//
// Oracle: an expression's text is read as the same expression; a JSON scalar is that which another
// parser finds; what was escaped can be had back.
#include "lib/join/join_key/join_key_expression.h"

#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"
#include "lib/join/join_key/json_pointer.h"
#include "support/text.h"

namespace rocksieve::join {
namespace {

using fuzz::Choices;
using Json = nlohmann::json;

void ParseExpression(Choices* choices) {
  const fuzz::ExactCopy text(choices->String()), key(choices->String()), value(choices->Rest());
  const absl::StatusOr<JoinKeyExpression> expression = JoinKeyExpression::Parse(text.view());
  if (!expression.ok()) return FUZZ_CHECK(!expression.status().message().empty());
  const absl::StatusOr<JoinKeyExpression> again = JoinKeyExpression::Parse(expression->text());
  FUZZ_CHECK(again.ok() && again->text() == expression->text());
  std::string first, second;
  const bool has = expression->Extract({key.view(), value.view()}, &first);
  FUZZ_CHECK(has == again->Extract({key.view(), value.view()}, &second));
  FUZZ_CHECK(!has || first == second);
}

void FindInJson(Choices* choices) {
  const fuzz::ExactCopy text(choices->String()), json(choices->Rest());
  const absl::StatusOr<JsonPointer> pointer = JsonPointer::Parse(text.view());
  if (!pointer.ok()) return;
  std::string scalar;
  const bool found = pointer->Find(json.view(), &scalar);
  const Json document = Json::parse(json.view(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return;  // or has a number that is no finite double
  const Json* place = nullptr;
  try {
    const Json::json_pointer other{std::string(text.view())};
    if (document.contains(other)) place = &document.at(other);
  } catch (const Json::exception&) {
    return;  // an index that is none, which we take for no place
  }
  const bool expected = place != nullptr && !place->is_null() && !place->is_structured();
  // Too small for a double, and for us if its exponent is beyond 2^40.
  if (expected && !found && place->is_number_float() && place->get<double>() == 0) return;
  FUZZ_CHECK(found == expected);
  if (!found) return;
  if (place->is_string()) FUZZ_CHECK(scalar == place->get_ref<const std::string&>());
  if (place->is_boolean()) FUZZ_CHECK(scalar == (place->get<bool>() ? "true" : "false"));
  if (place->is_number_integer()) FUZZ_CHECK(scalar == place->dump());
}

void WriteLine(Choices* choices) {
  const fuzz::ExactCopy bytes(choices->Rest());
  std::string line, again;
  AppendEscapedText(bytes.view(), &line);
  for (size_t i = 0; i < line.size(); i++) {
    FUZZ_CHECK(std::string_view("\t\n\r\0", 4).find(line[i]) == std::string_view::npos);
    if (line[i] != '\\') {
      again.push_back(line[i]);
      continue;
    }
    const size_t which = std::string_view("\\tnr0").find(line.at(++i));
    again.push_back(std::string_view("\\\t\n\r\0", 5).at(which));
  }
  FUZZ_CHECK(again == bytes.view());
}

}  // namespace
}  // namespace rocksieve::join

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksieve::join;
  rocksieve::fuzz::Choices choices(data, size);
  switch (choices.UpTo(2)) {
    case 0:
      ParseExpression(&choices);
      break;
    case 1:
      FindInJson(&choices);
      break;
    default:
      WriteLine(&choices);
  }
  return 0;
}
