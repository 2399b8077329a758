// SPDX-License-Identifier: Apache-2.0
#include "support/table.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "support/text.h"

namespace rocksieve {
namespace {

using Kind = Column::Kind;

// Null if it is not there.
Json FieldOf(const Json& row, std::string_view field) {
  if (field.empty()) return row;
  const std::string path = field[0] == '/' ? std::string(field) : "/" + std::string(field);
  const Json::json_pointer pointer(path);
  return row.contains(pointer) ? row.at(pointer) : Json();
}

std::string NumberText(double number, Kind kind, int digits) {
  if (kind == Kind::kSignificant || kind == Kind::kAligned) return Significant(number, digits);
  if (kind == Kind::kPercent) return Significant(100 * number, digits);
  return Fixed(number, digits);
}

// As {field:format} has it, see Filled().
std::string Printed(const Json& value, std::string_view format) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (format.empty()) {
    return value.is_number_integer() ? Thousands(value.get<uint64_t>())
                                     : Shortest(value.get<double>());
  }
  double number = value.get<double>();
  if (format[0] == '%') {
    number *= 100;
    format.remove_prefix(1);
  }
  const bool is_fixed = format[0] == '.';
  return NumberText(number, is_fixed ? Kind::kFixed : Kind::kSignificant, format.back() - '0');
}

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
  }
  return lines;
}

// As many lines as the highest head has; lower ones stand at the bottom.
std::vector<std::vector<std::string>> Heads(const std::vector<Column>& columns) {
  size_t height = 0;
  for (const Column& column : columns) height = std::max(height, Lines(column.head).size());
  std::vector<std::vector<std::string>> heads(height + 1);
  for (const Column& column : columns) {
    const std::vector<std::string> lines = Lines(column.head);
    for (size_t i = 0; i < height; i++) {
      const size_t above = height - lines.size();
      heads[i].push_back(i < above ? "" : lines[i - above]);
    }
    heads[height].push_back(column.subhead);
  }
  return heads;
}

// Makes numbers end so far behind their points, with spaces.
void AlignPoints(size_t column, size_t heads, std::vector<std::vector<std::string>>* rows) {
  const auto behind = [](const std::string& cell) {
    return cell.size() - std::min(cell.find('.'), cell.size());
  };
  size_t most = 0;
  for (size_t i = heads; i < rows->size(); i++) {
    if ((*rows)[i].size() > column) most = std::max(most, behind((*rows)[i][column]));
  }
  for (size_t i = heads; i < rows->size(); i++) {
    if ((*rows)[i].size() <= column) continue;
    std::string& cell = (*rows)[i][column];
    cell.append(most - behind(cell), ' ');
  }
}

using Cells = std::vector<std::vector<std::string>>;

// With the heads first.
Cells CellsOf(const std::vector<Column>& columns, const Json& rows) {
  Cells cells = Heads(columns);
  const size_t heads = cells.size();
  std::string group, part;
  for (const Json& row : rows) {
    const std::string its_group = row.value("group", ""), its_part = row.value("part", "");
    if (its_group != group) {
      cells.push_back({});
      cells.push_back({its_group});
    } else if (its_part != part) {
      cells.push_back({});
    }
    group = its_group;
    part = its_part;
    cells.emplace_back();
    for (const Column& column : columns) cells.back().push_back(CellText(row, column));
  }
  for (size_t i = 0; i < columns.size(); i++) {
    if (columns[i].kind == Kind::kAligned) AlignPoints(i, heads, &cells);
  }
  return cells;
}

// Columns as wide as their widest cell, two spaces apart. Rows may be shorter than others. Bytes
// are counted as columns: ASCII only.
std::string Aligned(const std::vector<Column>& columns, const Cells& rows) {
  std::vector<size_t> widths(columns.size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const bool left = i == 0 || columns[i].kind == Kind::kText;
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (left ? row[i] + padding : padding + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

size_t WidthOf(const std::string& table) {
  size_t width = 0;
  for (const std::string& line : Lines(table)) width = std::max(width, line.size());
  return width;
}

// The one that can best be spared; as many as there are columns if none can.
size_t SparestOf(const std::vector<Column>& columns) {
  size_t sparest = columns.size();
  for (size_t i = 0; i < columns.size(); i++) {
    if (columns[i].spare == 0) continue;
    if (sparest == columns.size() || columns[i].spare < columns[sparest].spare) sparest = i;
  }
  return sparest;
}

// "filter bytes"
std::string NameOf(const Column& column) {
  std::string name = column.head + " " + column.subhead;
  std::replace(name.begin(), name.end(), '\n', ' ');
  name.erase(0, name.find_first_not_of(' '));
  name.erase(name.find_last_not_of(' ') + 1);
  return name;
}

// Cuts what is longest of text, a character at a time, until the table fits or text has 8.
std::string Narrowed(const std::vector<Column>& columns, Cells cells, size_t heads, size_t width) {
  constexpr size_t kLeast = 8;
  for (;;) {
    const std::string table = Aligned(columns, cells);
    if (WidthOf(table) <= width) return table;
    size_t widest = columns.size(), most = kLeast;
    for (size_t i = 0; i < columns.size(); i++) {
      if (columns[i].kind != Kind::kText) continue;
      size_t size = 0;
      for (size_t row = heads; row < cells.size(); row++) {
        if (cells[row].size() <= i || cells[row].size() < columns.size()) continue;
        size = std::max(size, cells[row][i].size());
      }
      if (size > most) {
        most = size;
        widest = i;
      }
    }
    if (widest == columns.size()) return table;
    for (size_t row = heads; row < cells.size(); row++) {
      if (cells[row].size() < columns.size() || cells[row][widest].size() < most) continue;
      cells[row][widest].replace(most - 3, 3, "..");
    }
  }
}

}  // namespace

std::string CellText(const Json& row, const Column& column) {
  const Json value = FieldOf(row, column.field);
  if (value.is_null()) return "-";
  if (column.print != nullptr) return column.print(value);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return NumberText(value.get<double>(), column.kind, column.digits);
}

std::string Significant(double number, int digits) {
  if (number == 0 || !std::isfinite(number)) return number == 0 ? "0" : "-";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(number))));
  constexpr int kSmallestWithoutExponent = -5;
  if (magnitude >= kSmallestWithoutExponent) {
    return Fixed(number, std::max(digits - 1 - magnitude, 0));
  }
  char text[64];
  std::snprintf(text, sizeof(text), "%.*e", digits - 1, number);
  return text;
}

std::string Shortest(double number) {
  char text[64];
  return std::string(text, std::to_chars(text, text + sizeof(text), number).ptr);
}

std::string ForPeople(const std::vector<Column>& columns, const Json& rows, size_t width) {
  std::vector<Column> shown = columns;
  std::string left_out;
  for (;;) {
    Cells cells = CellsOf(shown, rows);
    std::string table = Aligned(shown, cells);
    const bool fits = width == 0 || WidthOf(table) <= width;
    const size_t sparest = SparestOf(shown);
    if (!fits && sparest < shown.size()) {
      left_out += (left_out.empty() ? "" : ", ") + NameOf(shown[sparest]);
      shown.erase(shown.begin() + static_cast<ptrdiff_t>(sparest));
      continue;
    }
    if (!fits) table = Narrowed(shown, std::move(cells), Heads(shown).size(), width);
    if (left_out.empty()) return table;
    return table + Wrapped("Not shown, for the terminal is narrow: " + left_out + ".", width) +
           "\n";
  }
}

std::string ForPeople(const std::vector<Column>& columns, const Json& rows) {
  return ForPeople(columns, rows, TerminalColumns(STDOUT_FILENO));
}

std::string Filled(std::string_view words, const Json& values) {
  std::string text;
  for (;;) {
    const size_t begin = std::min(words.find('{'), words.size());
    text += words.substr(0, begin);
    if (begin == words.size()) return text;
    const std::string_view place = words.substr(begin + 1, words.find('}') - begin - 1);
    const size_t colon = std::min(place.find(':'), place.size());
    text += Printed(FieldOf(values, place.substr(0, colon)),
                    place.substr(std::min(colon + 1, place.size())));
    words.remove_prefix(begin + place.size() + 2);
  }
}

std::string Document(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json NumberOrNull(double number) {
  return number < 0 || std::isnan(number) ? Json(nullptr) : Json(number);
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace rocksieve
