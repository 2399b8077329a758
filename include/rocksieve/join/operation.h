// SPDX-License-Identifier: Apache-2.0
// What a join finds, and where. One side asks, the other answers; both have sets of keys, each with
// rows.
#pragma once

#include <cstdint>
#include <string>

namespace rocksieve::join {

// The values go over the wire and never change.
enum class Operation : uint8_t {
  kIntersection = 1,  // rows of the server whose keys the client has (semi-join)
  kDifference = 2,    // rows of the server whose keys the client lacks (anti-join)
  kLocalOnly = 3,     // rows of the client whose keys the server lacks
  kSymmetric = 4,     // the two above
  kCount = 5,         // how many keys: in both, in one only
};

// A column family, by the names that RocksDB has for what orders and merges its rows.
struct ColumnFamilyDescription {
  std::string name;
  std::string comparator;
  std::string merge_operator;  // empty: none
};

}  // namespace rocksieve::join
