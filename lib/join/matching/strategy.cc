// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/strategy.h"

#include <iterator>

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

namespace rocksieve::join {
namespace {

// In the order of the enumeration.
constexpr absl::string_view kNames[] = {"auto",   "keys",      "list",   "bloom",   "cuckoo",
                                        "ribbon", "ping-pong", "sketch", "symbols", "sst-filters"};

}  // namespace

std::string_view NameOf(Strategy strategy) {
  const auto index = static_cast<size_t>(strategy);
  if (index >= std::size(kNames)) return "unknown";
  return {kNames[index].data(), kNames[index].size()};
}

std::string StrategyNames() { return absl::StrJoin(kNames, ", "); }

absl::StatusOr<Strategy> StrategyNamed(std::string_view name) {
  const absl::string_view wanted(name.data(), name.size());
  if (wanted.empty()) return Strategy::kAuto;
  for (size_t i = 0; i < std::size(kNames); i++) {
    if (kNames[i] == wanted) return static_cast<Strategy>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no strategy \"", wanted, "\": ", StrategyNames()));
}

}  // namespace rocksieve::join
