// SPDX-License-Identifier: Apache-2.0
// Whose existing SST filters a session begins with, if any: decided once, by the server.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/join/matching/planner.h"
#include "lib/join/matching/strategy.h"
#include "lib/join/rows/existing_filter.h"

namespace rocksieve::join {

enum class ExistingFilterChoice : uint8_t {
  kNotThere = 0,   // neither side has filters of whole keys
  kServer = 1,     // the server's, which follow at once
  kClient = 2,     // the client's
  kTooDear = 3,    // filters made for the occasion are expected to take fewer bytes
  kUnusable = 4,   // of a format that the other side does not read, or too large for it
  kNotWanted = 5,  // another strategy is forced, or the client takes none
};

constexpr bool UsesExistingFilters(ExistingFilterChoice choice) {
  return choice == ExistingFilterChoice::kServer || choice == ExistingFilterChoice::kClient;
}

// "used: the server's", "not used: neither side has filters of whole keys in SST files"
std::string_view Describe(ExistingFilterChoice choice);

struct ExistingFilterSide {
  double keys = 0;
  ExistingFilterOffer offer;
  uint64_t accepted_bytes = 0;  // of the other side's filters; 0 for none
  uint8_t readable_formats = 0;
};

constexpr bool WantsExistingFilters(Strategy strategy) {
  return strategy == Strategy::kAuto || strategy == Strategy::kSstFilters;
}

// The smaller ones of those that there are. Unless forced (Strategy::kSstFilters), only if they are
// expected to take hardly more bytes than without, whatever the overlap, which nobody knows yet.
ExistingFilterChoice ChooseExistingFilters(const ExistingFilterSide& client,
                                           const ExistingFilterSide& server,
                                           const PlannerOptions& options);

// Keys of the receiver that are the sender's as well, after so many passed its filters.
struct CommonKeys {
  double keys = 0;
  double standard_error = 0;
};
CommonKeys CommonAfterExistingFilters(double before, double passed, double pass_rate);

}  // namespace rocksieve::join
