// The tables and the picture of the experiment.
#pragma once

#include <vector>

#include "experiments/frame/experiment.h"
#include "experiments/near_duplicates/search.h"
#include "support/table.h"

namespace rocksieve::experiments {

// What each way finds, and what it takes.
Table SearchTable(const std::vector<CorpusRuns>& all, const RunSettings& settings);

// How far the estimates are from the truth, and which pairs meet, by similarity.
Table EstimateTable(const std::vector<CorpusRuns>& all, const RunSettings& settings);

// The S: the share of pairs that meet, over their similarity, as expected and as seen, with
// independent hash functions and the first banding.
Picture MeetingPicture(const std::vector<CorpusRuns>& all);

}  // namespace rocksieve::experiments
