// SPDX-License-Identifier: Apache-2.0
// Ways to reconcile a range. The planner weighs them all and mixes them (kAuto); each can be
// forced, for comparisons. Whatever the strategy, ranges that are equal end with their first
// digests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

namespace rocksieve::join {

enum class Strategy : uint8_t {
  kAuto,
  kKeys,   // the keys themselves, front-coded and compressed
  kList,   // their hashes, Golomb-coded
  kBloom,  // one filter of this family from the side that begins, then a list from the other
  kCuckoo,
  kRibbon,
  kPingPong,    // ribbon filters to and fro, then a list or symbols
  kSketch,      // partitioned PinSketch, and symbols for what it leaves
  kSymbols,     // rateless reconciliation
  kSstFilters,  // kAuto, after filters that one side has already, in its SST files
                // (existing_filter_choice.h)
};

// That reconcile a range: all but kSstFilters.
inline constexpr Strategy kAllStrategies[] = {
    Strategy::kAuto,   Strategy::kKeys,     Strategy::kList,   Strategy::kBloom,  Strategy::kCuckoo,
    Strategy::kRibbon, Strategy::kPingPong, Strategy::kSketch, Strategy::kSymbols};

// "auto", "keys", "list", "bloom", "cuckoo", "ribbon", "ping-pong", "sketch", "symbols",
// "sst-filters".
std::string_view NameOf(Strategy strategy);
// kAuto for "". InvalidArgument names those that there are.
absl::StatusOr<Strategy> StrategyNamed(std::string_view name);
std::string StrategyNames();  // all of them, with commas

}  // namespace rocksieve::join
