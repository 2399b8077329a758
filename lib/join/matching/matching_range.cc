// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/matching_range.h"

#include <utility>

namespace rocksieve::join {
namespace {

// Of one step, for each candidate: a table of the keys that are shipped takes most.
constexpr uint64_t kWorkBytesPerCandidate = 64;

}  // namespace

MatchingRange::MatchingRange(Candidates own_candidates, const MatchingOptions& the_options)
    : options(the_options),
      candidates(std::move(own_candidates)),
      their_count(options.their_count),
      common(options.common),
      common_error(options.common_error),
      spent(ScanCost(static_cast<double>(candidates.size()), options.their_count,
                     options.planner.weights)),
      their_count_is_exact(options.their_count_is_exact),
      memory(options.memory) {}

absl::Status MatchingRange::Hold(uint64_t step_bytes) {
  return memory.Resize(
      candidates.MemoryBytes() + VectorBytes(deferred) + options.kept_bytes + step_bytes,
      "reconciling a range");
}

absl::Status MatchingRange::HoldForWork(uint64_t step_bytes) {
  return Hold(step_bytes + kWorkBytesPerCandidate * (candidates.size() + deferred.size()));
}

RangeEstimate MatchingRange::estimate() const {
  const auto mine = static_cast<double>(candidates.size());
  const double theirs = std::max(1.0, their_count);
  return {mine, theirs, std::clamp(common, 0.0, std::min(mine, theirs)), common_error};
}

void MatchingRange::Append(Part part, std::string_view body, std::string* step) {
  AppendPart(part, body, step);
  parts++;
}

}  // namespace rocksieve::join
