#include "transport/strategy.h"

#include <string>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

absl::Status ForceStrategy(std::string_view name, PlannerOptions* options) {
  if (name.empty() || name == "auto") return absl::OkStatus();
  if (name == kReadyFiltersStrategy) {
    options->ready_filters = ReadyFilterUse::kAlways;
    return absl::OkStatus();
  }
  std::string known = absl::StrCat("auto, ", kReadyFiltersStrategy);
  for (const MoveKind kind : kAllMoves) {
    if (kind == MoveKind::kFilter) continue;  // ends no range
    const std::string_view its_name = NameOf(kind);
    if (its_name == name) {
      options->forced = kind;
      return absl::OkStatus();
    }
    absl::StrAppend(&known, ", ", absl::string_view(its_name.data(), its_name.size()));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no strategy \"", absl::string_view(name.data(), name.size()), "\": ", known));
}

}  // namespace rocksieve::join
