// SPDX-License-Identifier: Apache-2.0
// What a partitioned PinSketch takes on the wire (lib/sketch/pinsketch/plan.h), as often as a
// planner asks.
#pragma once

#include <optional>

namespace rocksieve::join {

// Bits of the sketch that pinsketch::MakePlan() lays out for these numbers, without trying layouts:
// within 1 % for many differences, 5 % for some hundreds, where groups are few. 50 ns; the first
// call in a process takes a millisecond. Nothing if ids would be too long. REQUIRES: keys > 0,
// differences > 0.
std::optional<double> SketchBits(double keys, double differences, int cells_log2);

}  // namespace rocksieve::join
