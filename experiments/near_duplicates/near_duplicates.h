// The experiment "near_duplicates": which of many sets are similar? MinHash signatures and
// locality-sensitive hashing against the comparison of all pairs; what theory says of errors,
// recall and precision against what is seen. Source: Leskovec, Rajaraman, Ullman, "Mining of
// massive datasets", chapter 3.
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureNearDuplicates(Run* run);

}  // namespace rocksieve::experiments
