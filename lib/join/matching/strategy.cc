#include "lib/join/matching/strategy.h"

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

std::optional<Strategy> StrategyNamed(std::string_view name) {
  for (const Strategy strategy : kAllStrategies) {
    if (NameOf(strategy) == name) return strategy;
  }
  if (name == NameOf(Strategy::kSstFilters)) return Strategy::kSstFilters;
  return std::nullopt;
}

std::string StrategyNames() {
  std::string names;
  for (const Strategy strategy : kAllStrategies) {
    if (!names.empty()) names += ", ";
    names += NameOf(strategy);
  }
  return names + ", " + std::string(NameOf(Strategy::kSstFilters));
}

}  // namespace rocksieve::join
