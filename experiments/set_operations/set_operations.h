// The experiment "set_operations": what is lost if one node sends another a filter of its keys, and
// the other takes what does not pass for the difference; beside the join, which is exact.
//
// Of the keys that only the asking node has, each passes the filter by mistake with its rate f, and
// is then missing: f |A \ B| of them, binomially distributed. The same keys are what an
// intersection by filter has too many.
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureSetOperations(Run* run);

}  // namespace rocksieve::experiments
