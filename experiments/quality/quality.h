// The experiment "quality": are the places that filters choose for keys uniform and independent, as
// every formula for their rates assumes? A hash that is bad on purpose must fail the same tests.
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureQuality(Run* run);

}  // namespace rocksieve::experiments
