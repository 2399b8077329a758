// What rocksieve.auto would make of a tree: the allocation that it tends to (lib/budget).
#pragma once

#include <vector>

#include "whatif/contender.h"
#include "whatif/filter_model.h"
#include "whatif/tree.h"

namespace rocksieve::tools {

// REQUIRES: the contender is kAuto.
std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const Contender& contender);

}  // namespace rocksieve::tools
