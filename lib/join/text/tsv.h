// A row as a line: key TAB value. Without a TAB, the line is the key and the value is empty.
#pragma once

#include <string>
#include <string_view>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

enum class TextFormat {
  kPlain,    // the bytes as they are: no TAB in keys, no line feed anywhere
  kEscaped,  // \\ is a backslash, \t a TAB, \n a line feed, \r a carriage return, \0 a zero byte
};

// As kEscaped has it, which any bytes can be written in.
void AppendEscapedForTsv(std::string_view bytes, std::string* out);

class LineParser {
 public:
  explicit LineParser(TextFormat format) : format_(format) {}

  // `line` without its line feed. The views point into it, or are valid until the next call. False
  // if another character stands behind a backslash, which kPlain never says.
  bool Parse(std::string_view line, Row* row);

 private:
  const TextFormat format_;
  std::string key_, value_;
};

}  // namespace rocksieve::join
