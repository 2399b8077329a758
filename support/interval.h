// 95 % intervals of shares: k of n lookups.
#pragma once

#include <cstdint>

namespace rocksieve {

// A share between 0 and 1, and the interval around it.
struct Share {
  double value = 0;
  double low = 0;
  double high = 1;
};

// The share that was observed, with the Wilson score interval of the true one (Wilson, "Probable
// Inference", 1927): unlike the usual +-1.96 standard errors it is sound for few or no hits.
// hits <= trials. No trials: anything between 0 and 1.
Share ObservedShare(uint64_t hits, uint64_t trials);

// The share that is expected, with the interval that holds the observed one in 95 % of experiments
// of so many trials: quantiles of the binomial distribution. If each experiment has a probability
// of its own, with this variance around `probability`, then of as many fewer trials as scatter
// alike. No trials: between 0 and 1.
Share ExpectedShare(double probability, double variance, uint64_t trials);

}  // namespace rocksieve
