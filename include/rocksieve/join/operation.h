// SPDX-License-Identifier: Apache-2.0
// What a join finds. One side asks, the other answers; both have sets of keys, each with rows.
#pragma once

#include <cstdint>

namespace rocksieve::join {

// The values go over the wire and never change.
enum class Operation : uint8_t {
  kIntersection = 1,  // rows of the server whose keys the client has (semi-join)
  kDifference = 2,    // rows of the server whose keys the client lacks (anti-join)
  kLocalOnly = 3,     // rows of the client whose keys the server lacks
  kSymmetric = 4,     // the two above
  kCount = 5,         // how many keys: in both, in one only
};

}  // namespace rocksieve::join
