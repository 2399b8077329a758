// SPDX-License-Identifier: Apache-2.0
// Names and properties of what a join finds.
#pragma once

#include <cstdint>
#include <iterator>
#include <string_view>

#include <rocksieve/join/operation.h>

namespace rocksieve::join {

inline constexpr Operation kAllOperations[] = {Operation::kIntersection, Operation::kDifference,
                                               Operation::kLocalOnly, Operation::kSymmetric,
                                               Operation::kCount};

// A symmetric difference of whole rows (join_key/join_key_source.h) that are joined on their keys alone;
// of matched keys, the values are compared after that. The result is that of a join on whole rows.
enum class Comparison : uint8_t {
  kNone = 0,  // what is joined on is all there is
  kKeys = 1,  // which keys; of the server's rows neither digests nor values
  kRows = 2,  // rows with their digests, and the values that the server's source gives
};

// "intersection", "difference", "local-only", "symmetric", "count".
constexpr std::string_view NameOf(Operation operation) {
  constexpr std::string_view kNames[] = {"unknown",    "intersection", "difference",
                                         "local-only", "symmetric",    "count"};
  const auto index = static_cast<size_t>(operation);
  return index < std::size(kNames) ? kNames[index] : kNames[0];
}

// Which rows go over the wire: those of the server that are matched, or that are not.
inline bool SendsMatched(Operation operation) { return operation == Operation::kIntersection; }
inline bool SendsUnmatched(Operation operation) {
  return operation == Operation::kDifference || operation == Operation::kSymmetric;
}
inline bool SendsRows(Operation operation) {
  return SendsMatched(operation) || SendsUnmatched(operation);
}
// Whether rows of the client that are not matched are part of the result.
inline bool EmitsLocalRows(Operation operation) {
  return operation == Operation::kLocalOnly || operation == Operation::kSymmetric;
}

}  // namespace rocksieve::join
