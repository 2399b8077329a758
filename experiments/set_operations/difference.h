// Ways to find the keys that only the node here has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/set_operations/two_nodes.h"

namespace rocksieve::experiments {

struct DifferenceResult {
  std::string error;      // empty if it ran
  uint64_t bytes = 0;     // between the nodes
  uint64_t found = 0;     // keys that it gives
  uint64_t invented = 0;  // of these, keys that the other node has as well
  double rate = 0;        // of false positives: asked for, and promised by the filter that was made
  double promised_rate = 0;
};

// The node there sends a filter, of a spec with a rate; what does not pass is the result.
DifferenceResult DifferenceByStaticFilter(const TwoNodes& nodes, const std::string& family,
                                          double rate);
DifferenceResult DifferenceByBloomFilter(const TwoNodes& nodes, double rate);

// The nodes join (lib/join): messages to and fro.
DifferenceResult DifferenceByJoin(const TwoNodes& nodes, uint64_t seed);

}  // namespace rocksieve::experiments
