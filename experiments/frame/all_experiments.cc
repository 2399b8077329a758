#include "frame/experiment.h"
#include "hyphenation/hyphenation.h"
#include "near_duplicates/near_duplicates.h"
#include "set_operations/set_operations.h"

namespace rocksieve::experiments {

const std::vector<Experiment>& AllExperiments() {
  static const std::vector<Experiment> experiments = {
      {"hyphenation", "exceptions of hyphenation patterns in a filter (Knuth and Liang)",
       MeasureHyphenation},
      {"near_duplicates", "similar pairs of packages by MinHash and LSH", MeasureNearDuplicates},
#ifdef ROCKSIEVE_WITH_JOIN
      {"set_operations", "a difference by filters, and what it loses, beside the exact join",
       MeasureSetOperations},
#endif
  };
  return experiments;
}

}  // namespace rocksieve::experiments
