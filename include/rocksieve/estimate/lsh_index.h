// SPDX-License-Identifier: Apache-2.0
// Which of many sets are similar to this one, or to each other? Without comparing all pairs.
//
//   LshOptions options;
//   options.banding = LshBanding::ForThreshold(options.signature.size, 0.8);
//   LshIndex index(options);
//   index.Add(17, signature);                          // a MinHash of options.signature
//   for (const LshIndex::Match& match : index.Similar(query, 0.8)) ...   // match.id, .similarity
//
// DESCRIPTION. Sets are known by numbers that the caller chooses. Those whose signatures agree in
// all rows of at least one band are candidates, with the probability that LshBanding gives;
// Similar() and SimilarPairs() then keep those whose estimated similarity is large enough. So a
// similar set may be missed (choose the banding for a somewhat smaller threshold, or with a
// miss_weight above 1), and one that is not may be found, as min_hash.h's standard error lets
// expect; who needs to be sure compares the sets themselves.
//
// IMPLEMENTATION. For each band a hash of its rows leads to the list of the sets that have it. A
// band that very many sets share (of empty templates, say) makes quadratically many pairs. What is
// stored are the signatures; the lists are made anew from them. Bytes: docs/formats/toolbox.md.
//
// Thread safety: const members from any number of threads at once, others from one alone.
// Cost: Add some 1 us per band, Candidates 0.3 us; per set 8 bytes a place and some 70 a band.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rocksieve/estimate/estimate.h>
#include <rocksieve/estimate/min_hash.h>

namespace rocksieve {

// How a signature is cut into bands, so that similar sets meet and others rarely do.
//
// Two sets meet (become candidates) if all rows of at least one band of their signatures are equal.
// With similarity s, b bands of r rows: with probability 1 - (1 - s^r)^b. Drawn over s that is an
// S: few meet below its steep part, near (1/b)^(1/r), and nearly all above. Source: Leskovec,
// Rajaraman, Ullman, "Mining of massive datasets", 3.4.2 (after Indyk and Motwani, "Approximate
// nearest neighbors", 1998).
//
// Thread safety: a plain value.

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

struct LshOptions {
  MinHashOptions signature;   // of all sets
  LshBanding banding{25, 5};  // at most as many bands times rows as signature.size; half at 0.49
};

class LshIndex {
 public:
  struct Match {
    uint64_t id = 0;
    Estimate similarity;
  };
  struct Pair {
    uint64_t a = 0, b = 0;  // a < b
    Estimate similarity;
  };

  // Throws std::invalid_argument if the options are outside of their ranges.
  explicit LshIndex(const LshOptions& options);

  // False, and nothing changes, if there is a set with this number, if the set is empty, or if its
  // signature is of other options.
  bool Add(uint64_t id, const MinHash& signature);
  // False, and nothing changes, if there is no set with this number.
  bool Remove(uint64_t id);

  // The sets that share a band with this one, in order; itself among them if it is in the index.
  // Throws std::invalid_argument if its signature is of other options.
  std::vector<uint64_t> Candidates(const MinHash& signature) const;
  // Those whose estimated similarity is at least so large, the most similar first.
  std::vector<Match> Similar(const MinHash& signature, double least_similarity) const;

  // All pairs that share a band, in order; and those whose estimated similarity is large enough.
  std::vector<std::pair<uint64_t, uint64_t>> CandidatePairs() const;
  std::vector<Pair> SimilarPairs(double least_similarity) const;

  // Null if there is no set with this number. Valid until the set is removed.
  const MinHash* Find(uint64_t id) const;
  size_t size() const { return signatures_.size(); }

  // Adds the sets of the other index. False, and nothing changes, if the options differ or a number
  // is in both.
  bool Merge(const LshIndex& other);

  size_t MemoryBytes() const;
  const LshOptions& options() const { return options_; }

  std::string Serialize() const;
  // Nothing, with the reason in *error (may be null), if Serialize() did not write these bytes.
  static std::optional<LshIndex> Deserialize(std::string_view bytes, std::string* error);

 private:
  // The hashes of the bands' rows, each band's unlike any other's.
  std::vector<uint64_t> BandHashes(const MinHash& signature) const;

  LshOptions options_;
  std::map<uint64_t, MinHash> signatures_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> sets_of_band_;
};

}  // namespace rocksieve
