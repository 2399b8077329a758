// Which policy to take, and why.
#pragma once

#include <string>
#include <vector>

#include "tools/whatif/calibration.h"
#include "tools/whatif/curve.h"
#include "tools/whatif/prediction.h"

namespace rocksieve::tools {

struct Recommendation {
  std::string spec;  // empty if nothing should be changed
  double filter_bytes = 0;
  double reads = 0;          // useless ones per lookup of a missing key
  double us_per_lookup = 0;  // modelled: reads and probes
  std::string reason;        // sentences
};

struct RecommendationInput {
  const PlannedTree* tree = nullptr;
  const Prediction* now = nullptr;
  const std::vector<Curve>* curves = nullptr;
  double filter_bytes = 0;   // the memory that may be used
  std::string memory_words;  // "in the memory that filters take now"
  double read_us = 80;
};

// Compares all families in the same memory, by the time that a lookup of a missing key takes in
// reads and probes.
Recommendation Recommend(const RecommendationInput& input, Calibration* calibration);

}  // namespace rocksieve::tools
