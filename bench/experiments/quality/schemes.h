// SPDX-License-Identifier: Apache-2.0
// Ways from a key to the places where a filter keeps it, taken apart into coordinates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

struct Coordinate {
  std::string name;
  uint64_t range = 0;  // its values: 0 to range - 1
};

// What the tests have to say of a scheme.
enum class Expectation {
  kPass,     // uniform, and independent in pairs
  kFail,     // made to be bad
  kPartial,  // uniform, but dependent by its definition
};

struct Scheme {
  std::string name;
  Expectation expectation = Expectation::kPass;
  std::vector<Coordinate> coordinates;
  // Writes one value for each coordinate.
  std::function<void(std::string_view key, uint64_t* values)> place;
};

std::vector<Scheme> Schemes();

}  // namespace rocksieve::experiments
