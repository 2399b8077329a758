// SPDX-License-Identifier: Apache-2.0
// What a family of filters does with more and less memory, on one tree, and which policy to take.
#pragma once

#include <string>
#include <vector>

#include "plugin/database/policy_spec.h"
#include "support/table.h"
#include "tools/whatif/calibration.h"
#include "tools/whatif/prediction.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

struct CurvePoint {
  double bits = 0;  // the setting
  double filter_bytes = 0;
  double reads = 0;  // useless ones per lookup of a missing key
};

struct Curve {
  std::string name;
  PolicySpec family;
  std::vector<CurvePoint> points;  // with rising memory

  // Interpolated between the points, on a logarithmic scale; negative outside of them.
  double ReadsAt(double filter_bytes) const;

  // The setting that takes so much memory at most; negative if the least one takes more.
  double BitsFor(double filter_bytes) const;

  // The least memory in which the reads are no more than these; negative if there is none.
  double BytesFor(double reads) const;
};

// From less than `least` to more than `most` bits per entry, as far as the family goes.
Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most);

// Compares all families in the same memory, by the time that a lookup of a missing key takes in
// reads and probes. `filter_bytes`: the memory that may be used; `memory_words`: "in the memory
// that filters take now". The "recommendation" of docs/json.md; its "spec" is null if nothing
// should be changed.
Json Recommend(const PlannedTree& tree, const Prediction& now, const std::vector<Curve>& curves,
               double filter_bytes, const std::string& memory_words, double read_us,
               Calibration* calibration);

}  // namespace rocksieve::tools
