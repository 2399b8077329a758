// How a signature is cut into bands, so that similar sets meet and others rarely do.
//
// Two sets meet (become candidates) if all rows of at least one band of their signatures are equal.
// With similarity s, b bands of r rows: with probability 1 - (1 - s^r)^b. Drawn over s that is an
// S: few meet below its steep part, near (1/b)^(1/r), and nearly all above. Source: Leskovec,
// Rajaraman, Ullman, "Mining of massive datasets", 3.4.2 (after Indyk and Motwani, "Approximate
// nearest neighbors", 1998).
//
// Thread safety: a plain value.
#pragma once

#include <cstdint>

namespace rocksieve {

struct LshBanding {
  uint64_t bands = 1;
  uint64_t rows = 1;  // of each band; bands * rows places of a signature are used

  // The bands and rows, of at most signature_size places, with the least sum of two areas: what is
  // below the S left of the threshold (sets that meet in vain), and what is above it right of the
  // threshold (similar sets that do not meet), the latter times miss_weight: 1 for equally bad,
  // more if to miss a pair is worse than to look at one too many (after Zhu, Nargesian, Pu, Miller,
  // "LSH Ensemble", 2016). Throws std::invalid_argument unless signature_size is 1 .. 4096,
  // the threshold between 0 and 1 exclusively, and miss_weight above 0. Takes 1 ms for 128 places,
  // 50 for 4096.
  static LshBanding ForThreshold(uint64_t signature_size, double threshold, double miss_weight = 1);

  // The S: that two sets of this similarity, 0 .. 1, meet.
  double CandidateProbability(double similarity) const;

  // The similarity at which one half of the pairs meets: (1 - 2^(-1/bands))^(1/rows).
  double HalfPoint() const;
};

}  // namespace rocksieve
