// SPDX-License-Identifier: Apache-2.0
#include "support/terminal_drawing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/text.h"

namespace rocksieve {
namespace {

constexpr size_t kAxisColumns = 8;
constexpr int kMostRowsPerDecade = 6, kRows = 18;

// Of columns that are written over from left to right, never outside of the line.
void Put(const std::string& text, size_t at, std::string* line) {
  if (line->size() < at + text.size()) line->resize(at + text.size(), ' ');
  line->replace(at, text.size(), text);
}

std::string WithoutTrailingBlanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// Centred, but not beyond the right end.
size_t Centred(double x, size_t size, size_t end) {
  const auto half = static_cast<double>(size) / 2;
  const auto begin = static_cast<size_t>(std::max(0.0, std::round(x - half + 0.5)));
  return std::min(begin, end - std::min(end, size));
}

}  // namespace

std::string TerminalDrawing(const Chart& chart, size_t width) {
  const Decades decades = DecadesOf(chart);
  const int decade_count = decades.highest - decades.lowest;
  const int rows_per_decade = std::clamp(kRows / decade_count, 1, kMostRowsPerDecade);
  const auto rows = static_cast<size_t>(decade_count * rows_per_decade + 1);
  const size_t columns = width - kAxisColumns - 1;
  std::vector<std::string> cells(rows, std::string(columns, ' '));

  const auto row_of = [&](double y) {
    const double row = (decades.highest - std::log10(y)) * rows_per_decade;
    return static_cast<size_t>(std::clamp(std::round(row), 0.0, static_cast<double>(rows - 1)));
  };
  const auto column_of = [&](double x) {
    return (x - chart.x_min) / (chart.x_max - chart.x_min) * static_cast<double>(columns - 1);
  };
  for (size_t i = 0; i < chart.series.size(); i++) {
    for (size_t column = 0; column < columns; column++) {
      const double x = chart.x_min + (chart.x_max - chart.x_min) * static_cast<double>(column) /
                                         static_cast<double>(columns - 1);
      const double y = HeightAt(chart.series[i], x);
      if (y > 0) cells[row_of(y)][column] = static_cast<char>('a' + i % 26);
    }
  }
  for (size_t i = 0; i < chart.marks.size(); i++) {
    const ChartPoint& point = chart.marks[i].point;
    if (point.y <= 0 || point.x < chart.x_min || point.x > chart.x_max) continue;
    const auto column = static_cast<size_t>(std::round(column_of(point.x)));
    cells[row_of(point.y)][column] = static_cast<char>('1' + i % 9);
  }

  std::string text = chart.y_label + "\n";
  for (size_t row = 0; row < rows; row++) {
    char label[32] = "";
    if (row % static_cast<size_t>(rows_per_decade) == 0) {
      const int decade = decades.highest - static_cast<int>(row) / rows_per_decade;
      std::snprintf(label, sizeof(label), "%g", std::pow(10, decade));
    }
    char line_start[64];
    std::snprintf(line_start, sizeof(line_start), "%*s |", static_cast<int>(kAxisColumns - 1),
                  label);
    text += WithoutTrailingBlanks(line_start + cells[row]) + "\n";
  }
  std::string axis = std::string(kAxisColumns, ' ') + "+" + std::string(columns, '-');
  std::string labels, second;
  for (const ChartTick& tick : chart.ticks) {
    const double x = static_cast<double>(kAxisColumns) + 1 + column_of(tick.x);
    axis[std::min(static_cast<size_t>(std::round(x)), axis.size() - 1)] = '+';
    Put(tick.label, Centred(x, tick.label.size(), width), &labels);
    Put(tick.second_line, Centred(x, tick.second_line.size(), width), &second);
  }
  text += axis + "\n" + WithoutTrailingBlanks(labels) + "\n";
  if (!WithoutTrailingBlanks(second).empty()) text += WithoutTrailingBlanks(second) + "\n";
  text += std::string(kAxisColumns + 1, ' ') + chart.x_label + "\n";
  for (size_t i = 0; i < chart.series.size(); i++) {
    text +=
        "  " + std::string(1, static_cast<char>('a' + i % 26)) + "  " + chart.series[i].name + "\n";
  }
  for (size_t i = 0; i < chart.marks.size(); i++) {
    text +=
        "  " + std::string(1, static_cast<char>('1' + i % 9)) + "  " + chart.marks[i].name + "\n";
  }
  return text;
}

}  // namespace rocksieve
