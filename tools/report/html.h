// SPDX-License-Identifier: Apache-2.0
// What a page is made of: markup, pictures, and sections about joins. Text becomes markup by being
// escaped, and in no other way: names of column families, paths and keys are whatever somebody has
// written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/table.h"

namespace rocksieve::tools {

class Html {
 public:
  Html() = default;
  // Text, escaped. What is no UTF-8, control characters and those that change the direction of
  // writing become U+FFFD.
  Html(std::string_view text);  // NOLINT: text is what most of a page is
  Html(const std::string& text) : Html(std::string_view(text)) {}  // NOLINT
  Html(const char* text) : Html(std::string_view(text)) {}         // NOLINT

  // REQUIRES: it is well-formed, and no text of others is in it unescaped.
  static Html OfMarkup(std::string markup);

  Html& operator+=(const Html& more) {
    markup_ += more.markup_;
    return *this;
  }
  const std::string& markup() const { return markup_; }
  bool empty() const { return markup_.empty(); }

 private:
  std::string markup_;
};

Html operator+(Html first, const Html& second);

// In their order; values are escaped as text is.
using Attributes = std::vector<std::pair<std::string_view, std::string>>;

// <tag attributes>content</tag>, and a new line unless it is part of a sentence.
Html Element(std::string_view tag, const Attributes& attributes, const Html& content);
Html Element(std::string_view tag, const Html& content);

// <tag attributes/>: of elements without content.
Html EmptyElement(std::string_view tag, const Attributes& attributes);

// The text as UTF-8 that can be shown, at most so many bytes of it and "..".
std::string Shown(std::string_view text, size_t most_bytes = 1000);

// `caption` names it for those who hear it. On a narrow screen it scrolls by itself. Of each row,
// the first column is its head; a row whose field "class" is text has that class.
Html HtmlTable(const std::string& caption, const std::vector<Column>& columns, const Json& rows);

// A row of a chart of bars: what it is, a bar, and its number in words.
struct Bar {
  std::string name;
  double value = 0;
  std::string text;
  std::string colour = "c1";  // a class of the style sheet
  double more = 0;            // stacked upon the value, in a lighter colour
  double mark = -1;           // a line across the bar; none if negative
  bool strong = false;        // the one to look at
};

// All on one linear scale from 0 to the largest value. `heads`: of the three columns.
Html BarChart(const std::string& caption, const std::vector<std::string>& heads,
              const std::vector<Bar>& bars);

// Attribute values of a picture: one digit after the point at most.
std::string Short(double number);

// How the page looks: light and dark, on a telephone, printed. Of at most 1,000 pixels; nothing is
// wider than the screen but what scrolls by itself.
extern const char kStyle[];

struct PictureFile {
  std::string name;
  int level = 0;
  uint64_t keys = 0, bytes = 0, filter_bytes = 0;
  std::string filter;  // its family; "none"
  bool unreadable = false;
};

// Classes of colours by family of filter, so that all pictures have the same.
using Colours = std::map<std::string, std::string>;
std::string ColourOf(const std::string& filter, const Colours& colours);  // of any

inline constexpr size_t kMostCells = 96;  // of a level: more files share cells

// The tree of a column family as a picture: a strip for each level, in it a cell for each file, in
// the order of keys, filled as high as the bits per key of its filter. Of however many files.
// `files`: by level, in it in the order of keys. `id`: of no other picture in the page. Size: at
// most some 40 kB for each level.
Html TreePicture(const std::string& id, const std::vector<PictureFile>& files,
                 const Colours& colours);

// What `rocksieve join --json` wrote, read from a file that anybody may have written.
struct JoinFile {
  std::string path;
  bool is_plan = false;  // of --explain; else of a join, or of --explain=analyze
  // The keys of docs/json.md that the page uses, and no others: numbers are not negative, and text
  // is short. "range_reports" is empty unless the join was analyzed.
  Json document;
};

// False, and a sentence that names the file and the remedy, if it is none.
bool ReadJoinFile(const std::string& path, JoinFile* file, std::string* error);

// The same of its text.
bool ParseJoinFile(const std::string& text, JoinFile* file, std::string* error);

// What a page says of a join: its plan, or its bytes by step. `number`: of the section, from 1.
Html JoinSection(size_t number, const JoinFile& file);

}  // namespace rocksieve::tools
