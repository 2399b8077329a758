// What the tests say of one scheme on one set of keys.
#pragma once

#include <string>
#include <vector>

#include "experiments/quality/schemes.h"

namespace rocksieve::experiments {

// The standard score farthest from 0, and whose it is.
struct WorstScore {
  double score = 0;
  std::string of;
  void Include(double other, const std::string& its);
};

struct Verdict {
  WorstScore uniformity;    // chi-square of each coordinate
  WorstScore correlation;   // Pearson's, of each pair of coordinates
  WorstScore independence;  // chi-square of each pair of coordinates, in a table of 32 x 32
  // The same of the first three coordinates together, in 16 x 16 x 16. No part of the verdict:
  // three probes of double hashing are dependent by definition, whatever the hash.
  WorstScore three_wise;

  bool Uniform() const;
  bool Independent() const;  // in pairs
};

// Beyond this it is no chance: one in 1.7 million.
inline constexpr double kMostScore = 5;

Verdict Judge(const Scheme& scheme, const std::vector<std::string>& keys);

}  // namespace rocksieve::experiments
