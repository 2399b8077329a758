#include "experiments/frame/experiment.h"
#include "experiments/growth/growth.h"
#include "experiments/hyphenation/hyphenation.h"
#include "experiments/near_duplicates/near_duplicates.h"
#include "experiments/optimum/optimum.h"
#include "experiments/quality/quality.h"
#include "experiments/set_operations/set_operations.h"

namespace rocksieve::experiments {

const std::vector<Experiment>& AllExperiments() {
  static const std::vector<Experiment> experiments = {
      {"hyphenation", "exceptions of hyphenation patterns in a filter (Knuth and Liang)",
       MeasureHyphenation},
      {"quality", "are the probes of filters uniform and independent? A bad hash must not be",
       MeasureQuality},
      {"optimum", "the best number of probes, and of keys, on 97,661 keys", MeasureOptimum},
      {"growth", "a scalable Bloom filter for 1,000 times the keys that it was made for",
       MeasureGrowth},
      {"near_duplicates", "similar pairs of packages by MinHash and LSH", MeasureNearDuplicates},
#ifdef ROCKSIEVE_WITH_JOIN
      {"set_operations", "a difference by filters, and what it loses, beside the exact join",
       MeasureSetOperations},
#endif
  };
  return experiments;
}

}  // namespace rocksieve::experiments
