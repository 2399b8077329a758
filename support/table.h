// SPDX-License-Identifier: Apache-2.0
// What a program has to say, defined once: a JSON document, and tables and sentences that print
// what is in it for people.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve {

using Json = nlohmann::ordered_json;

struct Column {
  // kAligned: significant digits, with the points of the column in line.
  enum class Kind { kText, kFixed, kSignificant, kPercent, kAligned };

  std::string field;  // of the rows; a JSON pointer if it begins with a slash; "": the row
  std::string head;   // often shared by neighbours; may have several lines
  std::string subhead;
  Kind kind = Kind::kFixed;  // kText is aligned left, all others right
  int digits = 2;
  std::string (*print)(const Json& value) = nullptr;  // instead of the kind; of null: "-"
  // Where the table is too wide, columns are left out in the order of these, 1 first; 0 stays.
  int spare = 0;
};

// The rows, below the heads. A row's "group", if it has one, is printed as a heading where it
// changes; an empty line is printed where "part" changes. What a row does not have, and what is
// null, is "-". At most so wide, if that is possible: spare columns are left out, and named below;
// then text is cut short, numbers never. 0: any width.
std::string ForPeople(const std::vector<Column>& columns, const Json& rows, size_t width);

// As wide as the terminal, if the standard output is one; else any width.
std::string ForPeople(const std::vector<Column>& columns, const Json& rows);

// One cell of them: "-" for what the row does not have.
std::string CellText(const Json& row, const Column& column);

// A sentence, with {field} replaced by what is there: whole numbers with commas, text as it is.
// {field:.2} has two digits after the point, {field:3} three significant ones, {field:%.1} and
// {field:%3} the same of per cent. Fields as in Column. REQUIRES: every brace is one of these.
std::string Filled(std::string_view words, const Json& values);

// What --json prints. Text that is no UTF-8, such as names of files, has U+FFFD in it.
std::string Document(const Json& json);

// Null for what could not be known: a number that is negative or none, a text that is empty.
Json NumberOrNull(double number);
Json TextOrNull(const std::string& text);

// With so many significant digits; with an exponent if it is tiny: Significant(0.0012345, 2) is
// "0.0012".
std::string Significant(double number, int digits);

// As few digits as tell the number from its neighbours: "10", "12.5".
std::string Shortest(double number);

}  // namespace rocksieve
