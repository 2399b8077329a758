// Strategies by name, for comparisons: else the planner chooses.
#pragma once

#include <string_view>

#include <absl/status/status.h>

#include "join/planner.h"

namespace rocksieve::join {

// Begins with the filters in one side's SST files, if there are any, and then does as it likes.
inline constexpr char kReadyFiltersStrategy[] = "sst-filters";

// "" or "auto": the planner's choice. InvalidArgument names those that there are.
absl::Status ForceStrategy(std::string_view name, PlannerOptions* options);

}  // namespace rocksieve::join
