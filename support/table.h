// What a run has to say: tables whose rows are JSON objects, printed for people by the columns that
// a table names, and stored whole.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rocksieve {

// What makes the program fail: sentences.
using Failures = std::vector<std::string>;

struct Column {
  enum class Kind { kText, kFixed, kSignificant, kPercent };

  const char* field;  // of the rows
  const char* head;   // two lines, the first one often shared by neighbours
  const char* subhead;
  Kind kind = Kind::kFixed;
  int digits = 2;
};

struct Table {
  std::string name;  // in JSON, and for --only
  std::string title;
  std::string explanation;  // of the columns
  std::vector<Column> columns;
  // The row's "group", if it has one, is printed as a heading where it changes; an empty line is
  // printed where "part" changes.
  nlohmann::json rows = nlohmann::json::array();
};

// At most about 100 columns wide.
std::string ForPeople(const Table& table);

// With so many significant digits; with an exponent if it is tiny: Significant(0.0012345, 2) is
// "0.0012".
std::string Significant(double number, int digits);

// As few digits as tell the number from its neighbours: "10", "12.5".
std::string Shortest(double number);

// Relative to the current directory, if it is there or below.
std::string ShortPath(const std::string& path);

// "20,000 keys"
std::string KeysHeading(uint64_t keys);

}  // namespace rocksieve
