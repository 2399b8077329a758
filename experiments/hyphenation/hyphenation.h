// The experiment "hyphenation". Sources: D. E. Knuth's use case of exceptions beside patterns
// ("The TeXbook", 1984, appendix H), which Bloom gave as the example of his filter: most words can
// be hyphenated by rules, the others are in a dictionary on disk ("Space/Time Trade-offs in Hash
// Coding with Allowable Errors", 1970).
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureHyphenation(Run* run);

}  // namespace rocksieve::experiments
