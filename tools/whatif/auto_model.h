// What rocksieve.auto would make of a tree: the allocation that it tends to (lib/budget).
#pragma once

#include <vector>

#include "plugin/database/policy_spec.h"
#include "tools/whatif/filter_model.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// REQUIRES: the policy is rocksieve.auto.
std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const PolicySpec& policy);

}  // namespace rocksieve::tools
