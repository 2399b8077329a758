// SPDX-License-Identifier: Apache-2.0
// Names and properties of what a join finds.
#pragma once

#include <iterator>
#include <string_view>

#include <rocksieve/join/operation.h>

namespace rocksieve::join {

inline constexpr Operation kAllOperations[] = {Operation::kIntersection, Operation::kDifference,
                                               Operation::kLocalOnly, Operation::kSymmetric,
                                               Operation::kCount};

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
