#include "support/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "support/text.h"

namespace rocksieve {
namespace {

constexpr size_t kWidth = 100;

std::string Cell(const nlohmann::json& row, const Column& column) {
  const auto found = row.find(column.field);
  if (found == row.end() || found->is_null()) return "-";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_boolean()) return found->get<bool>() ? "yes" : "no";
  const double number = found->get<double>();
  switch (column.kind) {
    case Column::Kind::kText:
    case Column::Kind::kFixed:
      return Fixed(number, column.digits);
    case Column::Kind::kSignificant:
      return Significant(number, column.digits);
    case Column::Kind::kPercent:
      return Significant(100 * number, column.digits);
  }
  return "";
}

// Makes a column's cells equally wide, so that they line up on the left.
void PadColumn(size_t column, std::vector<std::vector<std::string>>* rows) {
  size_t width = 0;
  for (const auto& row : *rows) {
    if (row.size() > column) width = std::max(width, row[column].size());
  }
  for (auto& row : *rows) {
    if (row.size() > column) row[column].resize(width, ' ');
  }
}

}  // namespace

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

std::string ShortPath(const std::string& path) {
  std::error_code error;
  const std::string relative = std::filesystem::proximate(path, error).string();
  return error || relative.rfind("..", 0) == 0 ? path : relative;
}

std::string KeysHeading(uint64_t keys) {
  return Thousands(keys) + (keys == 1 ? " key" : " keys");
}

std::string ForPeople(const Table& table) {
  std::vector<std::vector<std::string>> cells(2);
  bool any_head = false;
  for (const Column& column : table.columns) {
    any_head |= *column.head != '\0';
    cells[0].push_back(column.head);
    cells[1].push_back(column.subhead);
  }
  if (!any_head) cells.erase(cells.begin());
  std::string group, part;
  for (const nlohmann::json& row : table.rows) {
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
    for (const Column& column : table.columns) cells.back().push_back(Cell(row, column));
  }
  for (size_t i = 1; i < table.columns.size(); i++) {
    if (table.columns[i].kind == Column::Kind::kText) PadColumn(i, &cells);
  }
  return table.title + "\n" + Wrapped(table.explanation, kWidth) + "\n\n" +
         AlignedTable(cells);
}

}  // namespace rocksieve
