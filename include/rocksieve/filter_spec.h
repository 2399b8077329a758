// What to build: the spec "rocksieve.FAMILY:AMOUNT[:OPTION]..." as a value.
//
//   rocksieve.bloom:10          10 bits per key
//   rocksieve.cuckoo:12.5       fractions are allowed
//   rocksieve.cuckoo:0.1%       as many bits as a false-positive rate of 0.1 % needs
//   rocksieve.bloom:10:salted   a fresh random salt per filter, against chosen keys
//
// A spec never holds '=', ';' or a brace: RocksDB's option parser would cut it apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rocksieve {

// The values are stored in filter blocks and never change.
enum class Family : uint8_t { kBloom = 1, kCuckoo = 2 };

struct FilterSpec {
  enum class Unit { kBitsPerKey, kFalsePositiveRate };

  Family family = Family::kBloom;
  Unit unit = Unit::kBitsPerKey;
  // Bits per key, or the rate as a fraction (0.01 for "1%").
  double amount = 10;
  // Draw a random salt for each filter: equal keys then no longer give equal bytes.
  bool salted = false;

  // Returns an empty string and fills *spec; or says what is wrong, what is allowed, and gives an
  // example, and leaves *spec alone. Never throws.
  static std::string Parse(std::string_view text, FilterSpec* spec);

  // The canonical form: equal specs give equal text, and Parse() reads it back.
  std::string ToString() const;
};

}  // namespace rocksieve
