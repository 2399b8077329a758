#include "frame/experiment.h"
#include "hyphenation/hyphenation.h"

namespace rocksieve::experiments {

const std::vector<Experiment>& AllExperiments() {
  static const std::vector<Experiment> experiments = {
      {"hyphenation", "exceptions of hyphenation patterns in a filter (Knuth and Liang)",
       MeasureHyphenation},
  };
  return experiments;
}

}  // namespace rocksieve::experiments
