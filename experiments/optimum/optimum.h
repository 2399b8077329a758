// The experiment "optimum": the number of probes that is best, and the number of keys that a Bloom
// filter holds at its rate, on 97,661 keys. Source of the formulas:
// rocksieve/dynamic/bloom_filter.h.
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureOptimum(Run* run);

}  // namespace rocksieve::experiments
