// What a join finds. One side asks, the other answers; both have sets of keys, each with rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rocksieve::join {

// The values go over the wire and never change.
enum class Operation : uint8_t {
  kIntersection = 1,  // rows of the answering side whose keys the asking side has (semi-join)
  kDifference = 2,    // rows of the answering side whose keys the asking side lacks (anti-join)
  kLocalOnly = 3,     // rows of the asking side whose keys the answering side lacks
  kSymmetric = 4,     // the two above
  kCount = 5,         // how many keys: in both, in one only
};

inline constexpr Operation kAllOperations[] = {Operation::kIntersection, Operation::kDifference,
                                               Operation::kLocalOnly, Operation::kSymmetric,
                                               Operation::kCount};

// "intersection", "difference", "local-only", "symmetric", "count".
std::string_view NameOf(Operation operation);
std::optional<Operation> OperationNamed(std::string_view name);

// Which rows go over the wire: those of the answering side that are matched, or that are not.
inline bool SendsMatched(Operation operation) { return operation == Operation::kIntersection; }
inline bool SendsUnmatched(Operation operation) {
  return operation == Operation::kDifference || operation == Operation::kSymmetric;
}
// Whether rows of the asking side that are not matched are part of the result.
inline bool EmitsLocalRows(Operation operation) {
  return operation == Operation::kLocalOnly || operation == Operation::kSymmetric;
}

}  // namespace rocksieve::join
