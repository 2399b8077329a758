// SPDX-License-Identifier: Apache-2.0
// What `rocksieve report --join=FILE` reads, and the part of the page that is made of it. An input
// is the file; and, if it has a zero byte, the document before that with some of its values changed
// as the bytes after it say, so that more inputs are of the right shape than by chance.
//
// Oracle: what is refused is refused with a remedy. What is taken is taken again,
// and its markup is well-formed UTF-8 that has elements and attributes of ours alone, however the
// text of the document tries to be some.
#include <cmath>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tools/report/html.h"

namespace rocksieve::tools {
namespace {

using fuzz::Choices;

constexpr size_t kMostValues = 10000, kMostChanges = 16;

// All values of the document, itself included.
void Collect(Json* value, std::vector<Json*>* values) {
  if (values->size() >= kMostValues) return;
  values->push_back(value);
  if (!value->is_structured()) return;
  for (Json& part : *value) Collect(&part, values);
}

Json OtherValue(Choices* choices) {
  switch (choices->UpTo(9)) {
    case 0:
      return nullptr;
    case 1:
      return choices->Flag();
    case 2:
      return choices->Number();
    case 3:
      return UINT64_MAX;
    case 4:
      return -static_cast<int64_t>(choices->Number() >> 1);
    case 5:
      return std::ldexp(static_cast<double>(choices->Byte()),
                        static_cast<int>(choices->UpTo(1015)));
    case 6:
      return Json::array();
    case 7:
      return Json::object();
    default:
      return std::string(choices->String());
  }
}

void Change(Json* document, Choices* choices) {
  std::vector<Json*> values;
  Collect(document, &values);
  Json* value = values[choices->UpTo(values.size() - 1)];
  const bool has_parts = value->is_structured() && !value->empty();
  if (has_parts && choices->Flag()) {
    const auto part =
        std::next(value->begin(), static_cast<std::ptrdiff_t>(choices->UpTo(value->size() - 1)));
    if (value->is_array() && choices->Flag()) {
      const Json copy = *part;
      value->insert(value->end(), choices->Byte(), copy);
    } else {
      value->erase(part);
    }
    return;
  }
  *value = OtherValue(choices);
}

// The places of the markup, in their order.
class Reader {
 public:
  explicit Reader(const std::string& markup) : rest_(markup) {}

  bool done() const { return rest_.empty(); }
  bool Take(std::string_view text) {
    if (rest_.substr(0, text.size()) != text) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::string_view UpTo(std::string_view ends) {
    const std::string_view part = rest_.substr(0, rest_.find_first_of(ends));
    rest_.remove_prefix(part.size());
    return part;
  }

 private:
  std::string_view rest_;
};

// Of what would be markup, text has entities alone.
void CheckText(std::string_view text) {
  FUZZ_CHECK(text.find_first_of("<>\"") == std::string_view::npos);
  for (size_t at = text.find('&'); at != std::string_view::npos; at = text.find('&', at + 1)) {
    bool is_entity = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      is_entity |= text.substr(at, entity.size()) == entity;
    }
    FUZZ_CHECK(is_entity);
  }
}

void CheckMarkup(const std::string& markup) {
  static const std::set<std::string_view> kTags = {
      "section", "h2", "h3", "p",  "div", "table", "caption", "colgroup", "col", "thead",
      "tbody",   "tr", "th", "td", "svg", "rect",  "br",      "b",        "bdi", "code"};
  static const std::set<std::string_view> kAttributes = {
      "id",       "class", "scope", "role",   "tabindex", "aria-labelledby",     "aria-label",
      "x",        "y",     "width", "height", "viewBox",  "preserveAspectRatio", "aria-hidden",
      "focusable"};
  FUZZ_CHECK(Shown(markup, markup.size()) == markup);
  std::vector<std::string_view> open;
  for (Reader in(markup); !in.done();) {
    CheckText(in.UpTo("<"));
    if (!in.Take("<")) break;
    if (in.Take("/")) {
      FUZZ_CHECK(!open.empty() && in.UpTo(">") == open.back() && in.Take(">"));
      open.pop_back();
      continue;
    }
    open.push_back(in.UpTo(" />"));
    FUZZ_CHECK(kTags.count(open.back()) == 1);
    while (in.Take(" ")) {
      FUZZ_CHECK(kAttributes.count(in.UpTo("=")) == 1 && in.Take("=\""));
      const std::string_view value = in.UpTo("\"");
      CheckText(value);
      FUZZ_CHECK(value != "nan" && value != "inf" && in.Take("\""));
    }
    if (in.Take("/")) open.pop_back();
    FUZZ_CHECK(in.Take(">"));
  }
  FUZZ_CHECK(open.empty());
}

void Read(const std::string& text) {
  JoinFile file;
  std::string error;
  if (!ParseJoinFile(text, &file, &error)) {
    FUZZ_CHECK(error.find("make one by rocksieve join") != std::string::npos);
    return FUZZ_CHECK(Shown(error, error.size()) == error);
  }
  JoinFile again;
  FUZZ_CHECK(ParseJoinFile(file.document.dump(), &again, &error));
  FUZZ_CHECK(again.is_plan == file.is_plan);
  CheckMarkup(JoinSection(1, file).markup());
}

void ReadChanged(std::string_view text, Choices* choices) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return;
  for (size_t i = 0; i < kMostChanges && !choices->empty(); i++) Change(&document, choices);
  Read(document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace
}  // namespace rocksieve::tools

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  rocksieve::tools::Read(text);
  const size_t end = text.find('\0');
  if (end == std::string::npos) return 0;
  rocksieve::fuzz::Choices choices(std::string_view(text).substr(end + 1));
  rocksieve::tools::ReadChanged(std::string_view(text).substr(0, end), &choices);
  return 0;
}
