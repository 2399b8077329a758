// The tables of the experiment.
#pragma once

#include <vector>

#include "experiments/near_duplicates/runs.h"
#include "support/table.h"

namespace rocksieve::experiments {

// What each way finds, and what it takes.
Table SearchTable(const std::vector<CorpusRuns>& all, const RunSettings& settings);

// How far the estimates are from the truth, and which pairs meet, by similarity.
Table EstimateTable(const std::vector<CorpusRuns>& all, const RunSettings& settings);

}  // namespace rocksieve::experiments
