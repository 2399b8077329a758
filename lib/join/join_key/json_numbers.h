// The numbers in a JSON text as they are written, for parsers that refuse those beyond doubles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rocksieve::join {

// Goes through the numbers of a text in their order, in one pass. Of text that is no JSON it gives
// what looks like numbers.
class JsonNumbers {
 public:
  // The text must outlive it.
  explicit JsonNumbers(std::string_view text) : text_(text) {}

  // Empty if there are no more.
  std::string_view Next();

 private:
  void SkipString();

  const std::string_view text_;
  size_t at_ = 0;
};

// The same text with a 0 in the place of each number, and spaces behind it. What is no JSON stays
// none.
std::string WithoutNumbers(std::string_view json);

}  // namespace rocksieve::join
