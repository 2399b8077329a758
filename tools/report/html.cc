// SPDX-License-Identifier: Apache-2.0
#include "tools/report/html.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "support/chart.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

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

// c1 to c7: Okabe and Ito's colours, which the colour-blind can tell apart, as dark as white paper
// wants them and as light as a dark screen does.
const char kStyle[] = R"(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --panel: #f4f6f8; --ink: #1b232d; --soft: #586472; --line: #d5dbe2;
  --faint: #eaeef2; --error: #b3261e; --warning: #8a5a00; --good: #00704f;
  --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #b8578f; --c5: #c98a00; --c6: #3a9bd6;
  --c7: #6b7683;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #11161c; --panel: #1a212a; --ink: #e4e9ef; --soft: #9aa7b5; --line: #36414d;
    --faint: #232c36; --error: #ff8a80; --warning: #f2bf5e; --good: #4fd1a5;
    --c1: #4aa6e3; --c2: #ff8b4d; --c3: #2cc79a; --c4: #e59acb; --c5: #f0bd45; --c6: #8bd0f7;
    --c7: #8b97a5;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  font-size: 16px; overflow-wrap: anywhere;
}
header, main, footer { max-width: 1000px; margin: 0 auto; padding: 0 20px; }
header { padding-top: 32px; }
footer { padding-top: 24px; padding-bottom: 40px; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 1.35rem; line-height: 1.3; margin: 48px 0 8px; padding-top: 12px;
     border-top: 2px solid var(--line); }
h3 { font-size: 1.05rem; line-height: 1.35; margin: 32px 0 8px; }
p { margin: 8px 0; max-width: 46em; }
a { color: var(--c1); }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.92em; }
.soft, figcaption, caption, footer { color: var(--soft); font-size: 0.875rem; }
ul { padding-left: 1.3em; }
nav ul, ul.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: 4px 20px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px;
         margin: 24px 0 0; padding: 0; list-style: none; }
.tiles li { background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
            padding: 12px 14px; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: 0.875rem; }
.tiles .error b { color: var(--error); }
.tiles .warning b { color: var(--warning); }
.tiles .good b { color: var(--good); }
figure { margin: 8px 0 16px; }
figcaption { margin-top: 8px; max-width: 52em; }
svg { display: block; }
svg text { fill: var(--ink); font-family: inherit; }
svg text.soft { fill: var(--soft); }
.tree .level { margin: 10px 0 14px; }
.tree .level p { margin: 0 0 3px; max-width: none; font-size: 0.875rem; color: var(--soft);
                 text-align: center; }
.tree .level b { color: var(--ink); }
.tree .level svg { height: 44px; margin: 0 auto; min-width: 64px; }
rect.cell { fill: var(--faint); }
rect.bare { fill: none; stroke: var(--soft); stroke-width: 1; stroke-dasharray: 3 3;
            vector-effect: non-scaling-stroke; }
rect.bad { fill: var(--error); }
rect.c1 { fill: var(--c1); } rect.c2 { fill: var(--c2); } rect.c3 { fill: var(--c3); }
rect.c4 { fill: var(--c4); } rect.c5 { fill: var(--c5); } rect.c6 { fill: var(--c6); }
rect.c7 { fill: var(--c7); }
rect.more { opacity: 0.45; }
rect.promise { fill: var(--ink); stroke: var(--paper); stroke-width: 2; paint-order: stroke;
               vector-effect: non-scaling-stroke; }
g:hover > rect { opacity: 0.75; }
line.c1, polyline.c1 { stroke: var(--c1); } line.c2, polyline.c2 { stroke: var(--c2); }
line.c3, polyline.c3 { stroke: var(--c3); } line.c4, polyline.c4 { stroke: var(--c4); }
line.c5, polyline.c5 { stroke: var(--c5); } line.c6, polyline.c6 { stroke: var(--c6); }
line.c7, polyline.c7 { stroke: var(--c7); }
line.grid { stroke: var(--line); } line.minor { stroke: var(--faint); }
line.axis { stroke: var(--soft); }
circle.mark { fill: var(--paper); stroke: var(--ink); }
.curves svg { width: 100%; height: auto; }
.curves .legend svg { width: 30px; }
.curves .below { text-align: right; max-width: none; margin-top: 0; }
.on-narrow { display: none; }
.swatch { display: inline-block; width: 16px; height: 16px; vertical-align: -3px; }
.swatch.wide { width: 30px; }
.number { display: inline-block; width: 18px; height: 18px; line-height: 16px; font-size: 11px;
          text-align: center; border: 1.5px solid var(--ink); border-radius: 9px; }
.scroll { overflow-x: auto; margin: 16px 0; }
.scroll:focus-visible { outline: 2px solid var(--c1); }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: 6px; }
th, td { padding: 4px 10px; text-align: right; vertical-align: baseline;
         border-bottom: 1px solid var(--faint); overflow-wrap: normal; }
.scroll td.text { min-width: 7em; }
.scroll thead th, .scroll td:not(.text) { white-space: nowrap; }
thead th { vertical-align: bottom; border-bottom: 1px solid var(--line); color: var(--soft);
           font-weight: 600; }
tbody th { font-weight: 600; }
th.text, td.text { text-align: left; }
th:first-child, td:first-child { padding-left: 0; }
tr.strong th, tr.strong td { border-top: 1px solid var(--line); font-weight: 600; }
table.bars { width: 100%; table-layout: fixed; margin: 16px 0; }
table.bars th, table.bars td { border-bottom: 0; vertical-align: middle; overflow-wrap: anywhere; }
table.bars col.name { width: 24%; }
table.bars col.said { width: 36%; }
table.bars th:first-child { font-weight: 400; }
table.bars .said { text-align: left; padding-right: 0; }
table.bars thead { position: absolute; width: 1px; height: 1px; overflow: hidden;
                   clip-path: inset(50%); }
table.bars tr.strong th, table.bars tr.strong td { border-top: 0; font-weight: 600; }
svg.bar { width: 100%; height: 18px; overflow: visible; }
.finding, .advice { background: var(--panel); border-left: 4px solid var(--good);
                    border-radius: 0 8px 8px 0; padding: 10px 16px; margin: 12px 0; max-width: none; }
.finding h3 { margin: 0 0 4px; }
.finding.error { border-left-color: var(--error); }
.finding.warning { border-left-color: var(--warning); }
.finding.error h3 b { color: var(--error); }
.finding.warning h3 b { color: var(--warning); }
.finding dl { margin: 8px 0 0; display: grid; grid-template-columns: 8em 1fr; gap: 4px 12px; }
.finding dt { color: var(--soft); }
.finding dd { margin: 0; }
.finding dd p { margin: 0 0 4px; }
@media (max-width: 640px) {
  header, main, footer { padding-left: 16px; padding-right: 16px; }
  header { padding-top: 20px; }
  h1 { font-size: 1.4rem; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 8px; }
  .tiles b { font-size: 1.2rem; }
  .tree .level p { text-align: left; }
  .on-wide { display: none; }
  .on-narrow { display: block; }
  .finding dl { grid-template-columns: 1fr; }
  table.bars, table.bars tbody { display: block; }
  table.bars tr { display: grid; grid-template-columns: 2fr 3fr; margin-bottom: 6px; }
  table.bars caption { display: block; }
  table.bars th:first-child, table.bars .said, table.bars .drawn { padding: 2px 0; }
  table.bars colgroup { display: none; }
  table.bars .said { padding-left: 10px; }
  table.bars .drawn { grid-row: 2; grid-column: 1 / 3; }
}
@media print {
  @page { margin: 14mm; }
  body { font-size: 10.5pt; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  h1, h2, h3, caption { break-after: avoid; }
  figure, .finding, .advice, .tiles, table.bars, tr, .level { break-inside: avoid; }
  .scroll { overflow: visible; }
  .scroll table { font-size: 7pt; }
  .scroll th, .scroll td { padding: 2px 4px; }
  .scroll thead th, .scroll td:not(.text) { white-space: normal; }
  .scroll th.text, .scroll td.text { overflow-wrap: anywhere; min-width: 0; }
  .scroll tbody th.text { min-width: 7em; }
  table.bars { font-size: 9pt; }
  nav { display: none; }
}
)";

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
    uint32_t code = 0;
    const size_t size = FirstUtf8(text, &code);
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
