// SPDX-License-Identifier: Apache-2.0
#include "tools/report/html.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "support/chart.h"

namespace rocksieve::tools {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

// The code point that begins there, and how many bytes it takes; 0 bytes if it is no UTF-8.
std::pair<uint32_t, size_t> CodePoint(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {0, 0};
  uint32_t code = lead & (0x7F >> size);
  for (size_t i = 1; i < size; i++) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[size] || code > 0x10FFFF || is_surrogate ? std::pair<uint32_t, size_t>{0, 0}
                                                                : std::pair{code, size};
}

// Controls, separators of lines, and what changes the direction of writing; noncharacters.
bool CannotBeShown(uint32_t code) {
  if (code < 0x20) return code != '\n' && code != '\t';
  return (code >= 0x7F && code < 0xA0) || code == 0x061C || (code >= 0x200E && code <= 0x200F) ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
         code == 0xFEFF || (code & 0xFFFE) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF);
}

std::string AttributesText(const Attributes& attributes) {
  std::string text;
  for (const auto& [name, value] : attributes) {
    text += " " + std::string(name) + "=\"" + EscapedMarkup(Shown(value, value.size())) + "\"";
  }
  return text;
}

// Scrolls by itself where the screen is narrow, with the keyboard as well.
Html Scrolling(const std::string& name, const Html& table) {
  return Element("div",
                 {{"class", "scroll"}, {"role", "region"}, {"aria-label", name}, {"tabindex", "0"}},
                 table);
}

// In one line or two.
Html HeadOf(const Column& column) {
  const Html first = Html(column.head), second = Html(column.subhead);
  if (first.empty() || second.empty()) return first + second;
  return first + " " + EmptyElement("br", {}) + second;
}

constexpr double kBarWidth = 1000, kBarHeight = 20;

// The mark stands out at both ends.
Html BarPicture(const Bar& bar, double most) {
  const auto width = [&](double value) { return most > 0 ? kBarWidth * value / most : 0; };
  const auto part = [&](const std::string& colour, double x, double length) {
    return EmptyElement("rect", {{"class", colour},
                                 {"x", Short(x)},
                                 {"y", "3"},
                                 {"width", Short(length)},
                                 {"height", "14"}});
  };
  Html parts = part(bar.colour, 0, width(bar.value));
  if (bar.more > 0) parts += part(bar.colour + " more", width(bar.value), width(bar.more));
  if (bar.mark >= 0) {
    constexpr double kHalfMark = 3;
    parts += EmptyElement("rect", {{"class", "promise"},
                                   {"x", Short(width(bar.mark) - kHalfMark)},
                                   {"width", Short(2 * kHalfMark)},
                                   {"height", Short(kBarHeight)}});
  }
  return Element("svg",
                 {{"class", "bar"},
                  {"viewBox", "0 0 " + Short(kBarWidth) + " " + Short(kBarHeight)},
                  {"preserveAspectRatio", "none"},
                  {"aria-hidden", "true"},
                  {"focusable", "false"}},
                 parts);
}

}  // namespace

Html::Html(std::string_view text) : markup_(EscapedMarkup(Shown(text, text.size()))) {}

Html Html::OfMarkup(std::string markup) {
  Html html;
  html.markup_ = std::move(markup);
  return html;
}

Html operator+(Html first, const Html& second) {
  first += second;
  return first;
}

Html Element(std::string_view tag, const Attributes& attributes, const Html& content) {
  const std::string name(tag);
  // Between words a new line is a space.
  const bool is_inline = tag == "a" || tag == "b" || tag == "bdi" || tag == "code";
  return Html::OfMarkup("<" + name + AttributesText(attributes) + ">" + content.markup() + "</" +
                        name + (is_inline ? ">" : ">\n"));
}

Html Element(std::string_view tag, const Html& content) { return Element(tag, {}, content); }

Html EmptyElement(std::string_view tag, const Attributes& attributes) {
  return Html::OfMarkup("<" + std::string(tag) + AttributesText(attributes) + "/>");
}

std::string Shown(std::string_view text, size_t most_bytes) {
  std::string shown;
  size_t taken = 0;
  while (!text.empty()) {
    const auto [code, size] = CodePoint(text);
    const size_t bytes = std::max<size_t>(size, 1);
    taken += bytes;
    if (taken > most_bytes) return shown + "..";
    shown += size == 0 || CannotBeShown(code) ? kReplacement : text.substr(0, size);
    text.remove_prefix(bytes);
  }
  return shown;
}

Html HtmlTable(const std::string& caption, const std::vector<Column>& columns, const Json& rows) {
  const auto attributes = [&](size_t column, const char* scope) {
    Attributes result;
    if (scope != nullptr) result.emplace_back("scope", scope);
    if (columns[column].kind == Column::Kind::kText) result.emplace_back("class", "text");
    return result;
  };
  Html head, body;
  for (size_t i = 0; i < columns.size(); i++) {
    head += Element("th", attributes(i, "col"), HeadOf(columns[i]));
  }
  for (const Json& row : rows) {
    Html cells;
    for (size_t i = 0; i < columns.size(); i++) {
      cells += Element(i == 0 ? "th" : "td", attributes(i, i == 0 ? "row" : nullptr),
                       Shown(CellText(row, columns[i])));
    }
    const Json name = row.contains("class") ? row["class"] : Json();
    body += Element(
        "tr", name.is_string() ? Attributes{{"class", name.get<std::string>()}} : Attributes{},
        cells);
  }
  return Scrolling(caption, Element("table", Element("caption", caption) +
                                                 Element("thead", Element("tr", head)) +
                                                 Element("tbody", body)));
}

Html BarChart(const std::string& caption, const std::vector<std::string>& heads,
              const std::vector<Bar>& bars) {
  double most = 0;
  for (const Bar& bar : bars) most = std::max({most, bar.value + bar.more, bar.mark});
  Html head, body;
  for (size_t i = 0; i < heads.size(); i++) {
    head += Element("th", {{"scope", "col"}, {"class", i == 2 ? "said" : "text"}}, heads[i]);
  }
  for (const Bar& bar : bars) {
    body += Element("tr", bar.strong ? Attributes{{"class", "strong"}} : Attributes{},
                    Element("th", {{"scope", "row"}, {"class", "text"}}, Shown(bar.name)) +
                        Element("td", {{"class", "drawn"}}, BarPicture(bar, most)) +
                        Element("td", {{"class", "said"}}, Shown(bar.text)));
  }
  const Html columns = EmptyElement("col", {{"class", "name"}}) + EmptyElement("col", {}) +
                       EmptyElement("col", {{"class", "said"}});
  return Element("table", {{"class", "bars"}},
                 Element("caption", caption) + Element("colgroup", columns) +
                     Element("thead", Element("tr", head)) + Element("tbody", body));
}

std::string Short(double number) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.1f", std::isfinite(number) ? number : 0);
  std::string shown = text;
  if (shown.size() > 2 && shown.substr(shown.size() - 2) == ".0") shown.resize(shown.size() - 2);
  return shown == "-0" ? "0" : shown;
}

}  // namespace rocksieve::tools
