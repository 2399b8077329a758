#include "lib/join/matching/strategy.h"

#include <absl/strings/str_cat.h>

namespace rocksieve::join {

std::string_view NameOf(Strategy strategy) {
  switch (strategy) {
    case Strategy::kAuto:
      return "auto";
    case Strategy::kKeys:
      return "keys";
    case Strategy::kList:
      return "list";
    case Strategy::kBloom:
      return "bloom";
    case Strategy::kCuckoo:
      return "cuckoo";
    case Strategy::kRibbon:
      return "ribbon";
    case Strategy::kPingPong:
      return "ping-pong";
    case Strategy::kSketch:
      return "sketch";
    case Strategy::kSymbols:
      return "symbols";
    case Strategy::kSstFilters:
      return "sst-filters";
  }
  return "unknown";
}

std::string StrategyNames() {
  std::string names;
  for (const Strategy strategy : kAllStrategies) {
    if (!names.empty()) names += ", ";
    names += NameOf(strategy);
  }
  return names + ", " + std::string(NameOf(Strategy::kSstFilters));
}

absl::StatusOr<Strategy> StrategyNamed(std::string_view name) {
  if (name.empty()) return Strategy::kAuto;
  for (const Strategy strategy : kAllStrategies) {
    if (NameOf(strategy) == name) return strategy;
  }
  if (name == NameOf(Strategy::kSstFilters)) return Strategy::kSstFilters;
  return absl::InvalidArgumentError(absl::StrCat("there is no strategy \"",
                                                 absl::string_view(name.data(), name.size()),
                                                 "\": ", StrategyNames()));
}

}  // namespace rocksieve::join
