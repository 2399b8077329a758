// SPDX-License-Identifier: Apache-2.0
#include "lib/join/session/reconciliation.h"

#include <algorithm>

#include "lib/join/existing/existing_filter_choice.h"
#include "lib/join/matching/common_estimate.h"

namespace rocksieve::join {
namespace {

// Nothing if existing SST filters have dropped no keys of either side.
std::optional<CommonKeys> CommonByPruning(const OpenedRange& range, const RangeKeys& keys) {
  if (range.pruning.filters) {
    return CommonAfterExistingFilters(static_cast<double>(range.theirs.count),
                                      static_cast<double>(range.pruning.candidates),
                                      range.own_pass_rate);
  }
  if (!range.prunes) return std::nullopt;
  return CommonAfterExistingFilters(static_cast<double>(keys.sum.count),
                                    static_cast<double>(keys.candidates.size()),
                                    range.their_pass_rate);
}

}  // namespace

MatchingOptions OptionsFor(const OpenedRange& range, const RangeKeys& keys,
                           const PlannerOptions& wanted) {
  MatchingOptions options;
  options.salt = RangeSalt(range.session_salt, range.range, range.attempt);
  options.attempt = range.attempt;
  options.is_client = range.is_client;
  options.begins = range.begins;
  options.their_count = static_cast<double>(range.their_candidates());
  options.their_count_is_exact = true;
  options.most_list_entries = range.their_candidates();
  options.most_message_bytes = range.most_message_bytes;
  options.longest_key_bytes = keys.longest_key_bytes;
  options.filters = range.filters;
  options.memory = range.memory;

  const uint64_t mine = keys.candidates.size();
  const uint64_t fewer = std::min(range.their_candidates(), mine);
  const std::optional<CommonKeys> pruned = CommonByPruning(range, keys);
  const double guess = pruned ? pruned->keys : static_cast<double>(fewer) / 2;
  options.common = range.common.value_or(guess);
  options.common_error = pruned ? pruned->standard_error
                                : CommonError(range.counters, options.common,
                                              static_cast<double>(mine), options.their_count);

  options.planner = wanted;
  // With existing SST filters or without, ranges are reconciled as is cheapest.
  if (wanted.strategy == Strategy::kSstFilters) options.planner.strategy = Strategy::kAuto;
  options.planner.keys = {keys.bits_per_key, keys.sparse_bits_per_key,
                          static_cast<double>(keys.sum.count)};
  return options;
}

}  // namespace rocksieve::join
