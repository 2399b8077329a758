// SPDX-License-Identifier: Apache-2.0
// What to build: the spec "rocksieve.FAMILY:AMOUNT[:OPTION]..." as a value.
//
//   rocksieve.bloom:10          10 bits per key
//   rocksieve.cuckoo:12.5       fractions are allowed
//   rocksieve.cuckoo:0.1%       as many bits as a false-positive rate of 0.1 % needs
//   rocksieve.bloom:10:salted   options follow, in any order
//   rocksieve.range:12          answers for ranges and prefixes too (range.h)
//
// Options:
//   salted     a fresh random salt per filter, against attackers who choose keys; equal keys no
//              longer give equal bytes then, so files differ between replicas; 8 bytes per filter
//   thorough   a slower build for a lower false-positive rate at the same size
//   fast       of rocksieve.bloom, the reverse: a faster build for a higher rate; not both
//   verified   every filter is asked for all of its keys after the build; a filter that misses
//              one is an error of the job that writes the file
//   own-name   RocksDB: a compatibility name of the policy's own. Filters that the database already
//              has are ignored, and a RocksDB without rocksieve does not even look at ours
//   prefixes-N-..  of rocksieve.range: lengths in bytes of prefixes that are asked for, up to four
//   order-N    of rocksieve.range: the order of keys is kept up to N bytes, 0 to 255
//
// A spec never holds '=', ';' or a brace: RocksDB's option parser would cut it apart.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rocksieve {

// Whose filter it is.
enum class Family : uint8_t {
  kNone = 0,  // no filter
  // Ours. The values are stored in filter blocks and never change.
  kBloom = 1,
  kCuckoo = 2,
  kRibbon = 3,
  kRange = 4,
  // RocksDB's own, which rocksieve reads, describes and compares, but does not build.
  kRocksDbBloom = 0xF0,
  kRocksDbLegacyBloom = 0xF1,  // of format_version 4 and earlier
  kRocksDbRibbon = 0xF2,
};

struct FilterSpec {
  enum class Unit { kBitsPerKey, kFalsePositiveRate };

  Family family = Family::kBloom;
  Unit unit = Unit::kBitsPerKey;
  // Bits per key, or the rate as a fraction (0.01 for "1%").
  double amount = 10;
  bool own_name = false;
  bool salted = false;
  bool thorough = false;
  bool verified = false;
  bool fast = false;
  // Of rocksieve.range: the lengths in bytes of prefixes that are asked for, ascending, with zeros
  // behind; none: chosen from the keys.
  std::array<uint8_t, 4> prefix_lengths{};
  // Of rocksieve.range: the order of keys is kept up to so many bytes, 0 (not at all) to 255; -1:
  // chosen from the keys.
  int order_bytes = -1;

  // Returns an empty string and fills *spec; or says what is wrong, what is allowed, and gives an
  // example, and leaves *spec alone. Never throws.
  static std::string Parse(std::string_view text, FilterSpec* spec);

  // The canonical form: equal specs give equal text, and Parse() reads it back.
  std::string ToString() const;
};

}  // namespace rocksieve
