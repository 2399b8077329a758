#include "lib/join/operation.h"

namespace rocksieve::join {

std::string_view NameOf(Operation operation) {
  switch (operation) {
    case Operation::kIntersection:
      return "intersection";
    case Operation::kDifference:
      return "difference";
    case Operation::kLocalOnly:
      return "local-only";
    case Operation::kSymmetric:
      return "symmetric";
    case Operation::kCount:
      return "count";
  }
  return "unknown";
}

}  // namespace rocksieve::join
