// SPDX-License-Identifier: Apache-2.0
// Whether the plan for a link is as quick as the best fixed strategy. `./run bench join
// --only=grid`.
#pragma once

#include "bench/join/figures.h"

namespace rocksieve::bench {

Table MeasureLinkGrid(FigureRun* run);

}  // namespace rocksieve::bench
