// SPDX-License-Identifier: Apache-2.0
// Keys as numbers, so that one can say how far apart they are.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rocksieve {

// Made from a sample of keys: the prefix that all have in common says nothing, and the bytes after
// it are the digits of a number, in base 10 where only decimal digits occur, 16 where only
// hexadecimal ones do, and so on. Keeps the keys' bytewise order, though it may take keys for equal
// that differ late.
class KeyScale {
 public:
  // A sample of no keys is allowed.
  explicit KeyScale(const std::vector<std::string_view>& sample);

  // 0 to 1.
  double PositionOf(std::string_view key) const;

 private:
  struct Digit {
    std::array<uint8_t, 256> value;
    double unit;  // weight of one step of the value
  };

  size_t prefix_size_ = 0;
  std::vector<Digit> digits_;
};

}  // namespace rocksieve
