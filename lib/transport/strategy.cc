#include "lib/transport/strategy.h"

#include <optional>

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

absl::Status ForceStrategy(std::string_view name, PlannerOptions* options) {
  const std::optional<Strategy> strategy = name.empty() ? Strategy::kAuto : StrategyNamed(name);
  if (!strategy) {
    return absl::InvalidArgumentError(absl::StrCat("there is no strategy \"",
                                                   absl::string_view(name.data(), name.size()),
                                                   "\": ", StrategyNames()));
  }
  options->strategy = *strategy;
  return absl::OkStatus();
}

}  // namespace rocksieve::join
