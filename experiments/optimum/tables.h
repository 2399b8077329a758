// The tables and pictures of the experiment "optimum".
#pragma once

#include <string>
#include <vector>

#include "experiments/frame/experiment.h"
#include "experiments/optimum/rates.h"

namespace rocksieve::experiments {

struct OptimumInput {
  std::vector<std::string> keys;        // what is added: as many as in the published run
  std::vector<std::string> other_keys;  // to overfill filters with; neither in keys nor missing
  MissingKeys missing;
};

// At 10 bits per key, the rate for each number of probes. Fails if the best one is not the one
// that OptimalBloomHashes() names, or next to it within the error.
Table MeasureProbes(const OptimumInput& input, Run* run);

// A filter for the keys at 0.01 %, with more and more keys in it.
Table MeasureKeys(const OptimumInput& input, Run* run);

// The two published points, with all ways to hash, and our static families.
Table MeasurePublishedPoints(const OptimumInput& input, Run* run);

Picture ProbesPicture(const Table& probes);
Picture KeysPicture(const Table& keys);

// Whether a rate that was counted is as its formula says: within 5 standard errors of it, or 3 %,
// which is what the formula itself is good for. Else a failure, which names `what`.
void Check(const std::string& what, const CountedRate& counted, double expected, Run* run);

}  // namespace rocksieve::experiments
