// SPDX-License-Identifier: Apache-2.0
// Keys and queries that every filter is measured with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::bench {

// Of all keys that are not below `begin` and below `end`.
struct RangeQuery {
  std::string begin, end;
};

// How an iterator reads a range: with an upper bound, as it should; or seeking its first key
// without one; or from its last key on.
enum class Reading { kBounded, kUnbounded, kBackwards };

struct QueryKind {
  std::string name;
  Reading reading = Reading::kBounded;
  std::vector<RangeQuery> ranges;  // none if the keys afford none
};

struct Workload {
  std::vector<std::string> keys;         // distinct, in the order in which they are written
  std::vector<std::string> sorted;       // the same
  std::vector<QueryKind> kinds;          // the queries of a kind are distinct
  std::vector<std::string> absent_keys;  // present ones with one byte changed
};

// 8 bytes, in the order of the numbers.
std::string BigEndian(uint64_t number);

// Keys of 16 bytes: one of some entities, about 30 keys each, and one of 2^20 times. `queries` of
// each kind.
Workload EntityWorkload(uint64_t keys, uint64_t queries, uint64_t absent_keys);

// Keys that are text: prefixes, and what comes after a key in its directory.
Workload PathWorkload(std::vector<std::string> paths, uint64_t queries, uint64_t absent_keys);

// Paths as a system with packages and users has them: names repeat, directories hold few files or
// many, and are up to about 15 deep. Distinct; the same for the same seed.
std::vector<std::string> MadePaths(uint64_t count, uint64_t seed);

// Distinct lines of a file ("-": of the standard input), so many at random if there are more.
// Throws, with the remedy, if it cannot be read or has fewer than 1,000.
std::vector<std::string> PathsFrom(const std::string& file, uint64_t count);

}  // namespace rocksieve::bench
