// SPDX-License-Identifier: Apache-2.0
// The npm packages of the published run, on our lists, beside our figures.
#pragma once

#include <vector>

#include "bench/experiments/frame/experiment.h"
#include "bench/experiments/hyphenation/measure.h"

namespace rocksieve::experiments {

// Runs published/measure.js in Node with the packages in run->settings.npm_directory. Its sets are
// named "npm Map", "npm BloomFilter" and "npm CuckooFilter". Throws std::runtime_error if Node
// fails.
HyphenationResults MeasurePublished(const HyphenationSettings& settings,
                                    const std::vector<std::string>& words,
                                    const std::vector<HyphenatedWord>& exceptions, Run* run);

Table PresentPublished(const HyphenationSettings& settings, const HyphenationResults& published,
                       const HyphenationResults& ours);

}  // namespace rocksieve::experiments
