// Strategies by name, for comparisons: else the planner chooses.
#pragma once

#include <string_view>

#include <absl/status/status.h>

#include "lib/join/matching/planner.h"

namespace rocksieve::join {

// "" or "auto": the planner's choice. InvalidArgument names those that there are.
absl::Status ForceStrategy(std::string_view name, PlannerOptions* options);

}  // namespace rocksieve::join
