// Numbers and tables for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve {

// 331612 -> "331,612".
std::string Thousands(uint64_t number);

// With so many digits after the point: Fixed(6712.25, 1) -> "6,712.2".
std::string Fixed(double number, int digits);

// Columns as wide as their widest cell, the first one aligned left, the others right, two spaces
// apart. Every row ends in a newline; rows may be shorter than others. Bytes are counted as
// columns: ASCII only.
std::string AlignedTable(const std::vector<std::vector<std::string>>& rows);

// Breaks lines at spaces so that none is wider than `width`, if its words allow it.
std::string Wrapped(const std::string& text, size_t width);

}  // namespace rocksieve
