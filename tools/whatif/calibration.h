// SPDX-License-Identifier: Apache-2.0
// What filters cost in this process, on this machine, now: measured, since constants of another
// machine would be wrong.
#pragma once

#include <cstddef>

#include "tools/whatif/prediction.h"

namespace rocksieve::tools {

struct FilterCost {
  double build_ns = 0;  // per key, hashing included
  double probe_ns = 0;  // per query of a filter that is in memory
};

// Measures when first asked, some 0.1 s for each policy, and remembers it for all trees of the
// process whose keys are as long. One thread at a time.
class Calibration {
 public:
  // `key_bytes`: of the tree's keys, on average.
  explicit Calibration(double key_bytes);

  // Of one thread that builds all filters of the tree.
  double BuildSeconds(const PolicySpec& policy, const Prediction& prediction);

  // Of all filters that a lookup of a missing key asks.
  double ProbeNs(const PolicySpec& policy, const Prediction& prediction);

 private:
  FilterCost CostOf(const PolicySpec& policy, Family family);

  const size_t key_bytes_;  // at least 8, at most 256
};

}  // namespace rocksieve::tools
