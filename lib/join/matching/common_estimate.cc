// SPDX-License-Identifier: Apache-2.0
#include "lib/join/matching/common_estimate.h"

#include <algorithm>
#include <cmath>

#include "lib/format/byte_io.h"
#include "lib/sketch/difference_estimator.h"

namespace rocksieve::join {
namespace {

constexpr uint64_t kEstimatorStep = 0x65737469;  // apart from the salts of a range's messages

DifferenceEstimator EstimatorOf(const Candidates& candidates, size_t counters, uint64_t salt) {
  const uint64_t step_salt = SplitMix64(salt, kEstimatorStep);
  DifferenceEstimator estimator(counters);
  for (const Candidate& candidate : candidates) {
    estimator.Add(HashForStep(candidate.hash, step_salt));
  }
  return estimator;
}

}  // namespace

size_t CountersIn(std::string_view estimator) {
  return static_cast<size_t>(ByteReader(estimator).Varint(DifferenceEstimator::kMostCounters));
}

double CommonError(size_t counters, double common, double mine, double theirs) {
  if (counters == 0) return std::min(mine, theirs) / 2;
  const double differences = std::max(0.0, mine + theirs - 2 * common);
  return differences * std::sqrt(2.0 / static_cast<double>(counters)) / 2;
}

size_t CountersFor(uint64_t mine, uint64_t theirs) {
  const uint64_t larger = std::max(mine, theirs), smaller = std::min(mine, theirs);
  if (smaller < 64 || larger / smaller >= 4) return 0;
  return mine + theirs > 300000 ? 512 : mine + theirs > 4000 ? 256 : 64;
}

std::string EncodeEstimator(const Candidates& candidates, size_t counters, uint64_t salt) {
  const DifferenceEstimator estimator = EstimatorOf(candidates, counters, salt);
  std::string bytes;
  ByteWriter out(&bytes);
  estimator.Write(estimator.SufficientWidth(), &out);
  return bytes;
}

absl::Status EstimateCommon(std::string_view estimator, uint64_t their_count,
                            const Candidates& candidates, uint64_t salt, double* common) {
  const size_t counters = CountersIn(estimator);
  if (counters == 0) return absl::InvalidArgumentError("the other side sent a damaged estimator");
  DifferenceEstimator theirs(counters);
  ByteReader in(estimator);
  if (!theirs.Read(&in) || !in.Finished()) {
    return absl::InvalidArgumentError("the other side sent a damaged estimator");
  }
  const DifferenceEstimate estimate =
      DifferenceEstimator::Estimate(theirs, EstimatorOf(candidates, counters, salt));
  const auto mine = static_cast<double>(candidates.size());
  const auto other = static_cast<double>(their_count);
  *common = std::clamp((mine + other - estimate.differences) / 2, 0.0, std::min(mine, other));
  return absl::OkStatus();
}

}  // namespace rocksieve::join
