// What rocksieve.auto would make of a tree: the allocation that it tends to (lib/budget).
#pragma once

#include <vector>

#include "tools/whatif/contender.h"
#include "tools/whatif/filter_model.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// REQUIRES: the contender is kAuto.
std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const Contender& contender);

}  // namespace rocksieve::tools
