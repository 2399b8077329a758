// SPDX-License-Identifier: Apache-2.0
// Where the CPU time of a join goes. `./run bench join --stages`.
#pragma once

#include <string>

#include "bench/join/figures.h"

namespace rocksieve::bench {

// By what each side hears, and says to that: nanoseconds per key of one side.
Table MeasureStages(FigureRun* run);

// The totals of another build of this program and of this one, run after run by turns, each in a
// process of its own, and their ratios. The other one must put as much on the wire.
Table CompareWith(const std::string& other_program, FigureRun* run);

}  // namespace rocksieve::bench
