// SPDX-License-Identifier: Apache-2.0
// The nanoseconds by which joins are planned, as they are on this machine.
#pragma once

#include "bench/join/figures.h"

namespace rocksieve::bench {

// Prints what parts of a join take with the active kernels, in ranges of FigureSettings::keys keys,
// as it stands in lib/join/matching/cost_weights.cc, beside what stands there: the least of
// FigureSettings::seeds rounds. 1 if some of it is off by more than 30 %, else 0.
int PrintPrices(FigureRun* run);

}  // namespace rocksieve::bench
