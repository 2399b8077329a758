#include "support/text.h"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace rocksieve {
namespace {

// Puts commas between the groups of three digits before the point, if there is one.
std::string WithCommas(const std::string& number) {
  const size_t point = std::min(number.find('.'), number.size());
  std::string result;
  for (size_t i = 0; i < number.size(); i++) {
    const bool group_begins = i > 0 && i < point && (point - i) % 3 == 0;
    if (group_begins && number[i - 1] != '-') result += ',';
    result += number[i];
  }
  return result;
}

}  // namespace

std::string Thousands(uint64_t number) { return WithCommas(std::to_string(number)); }

std::string Fixed(double number, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return WithCommas(text);
}

std::string AlignedTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string result;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string Wrapped(const std::string& text, size_t width) {
  std::istringstream words(text);
  std::string result, word;
  size_t column = 0;
  while (words >> word) {
    if (column > 0 && column + 1 + word.size() > width) {
      result += "\n";
      column = 0;
    } else if (column > 0) {
      result += " ";
      column++;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace rocksieve
