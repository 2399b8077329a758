// The picture of the experiment.
#pragma once

#include <vector>

#include "experiments/frame/experiment.h"
#include "experiments/near_duplicates/runs.h"

namespace rocksieve::experiments {

// The S: the share of pairs that meet, over their similarity, as expected and as seen, with
// independent hash functions and the first banding.
Picture MeetingPicture(const std::vector<CorpusRuns>& all);

}  // namespace rocksieve::experiments
