// The experiment "growth": a scalable Bloom filter that was made for too few keys, beside a Bloom
// filter that knew how many would come. P. Almeida, C. Baquero, N. Preguica, D. Hutchison,
// "Scalable Bloom filters", 2007.
#pragma once

#include "experiments/frame/experiment.h"

namespace rocksieve::experiments {

Outcome MeasureGrowth(Run* run);

}  // namespace rocksieve::experiments
