// SPDX-License-Identifier: Apache-2.0
// How many keys of a range both sides have, before anything else is known.
#pragma once

#include <string>
#include <string_view>

#include <absl/status/status.h>

#include "lib/join/matching/candidates.h"

namespace rocksieve::join {

// Counters of a DifferenceEstimator that are worth their bytes for so many keys at each side; 0 if
// none are: one side is so much larger than the other that the estimate would say nothing.
size_t CountersFor(uint64_t mine, uint64_t theirs);

// The estimator of one side's keys, to be sent. `salt` is the range's.
std::string EncodeEstimator(const Candidates& candidates, size_t counters, uint64_t salt);

// From what the other side sent, and its number of keys.
absl::Status EstimateCommon(std::string_view estimator, uint64_t their_count,
                            const Candidates& candidates, uint64_t salt, double* common);

// Of the counters that an encoded estimator has; 0 if it is damaged.
size_t CountersIn(std::string_view estimator);

// The standard error of such an estimate; without counters half of what the smaller side has was
// but a guess.
double CommonError(size_t counters, double common, double mine, double theirs);

}  // namespace rocksieve::join
