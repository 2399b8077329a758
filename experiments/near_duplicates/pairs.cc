#include "experiments/near_duplicates/pairs.h"

#include "bench/compare/clock.h"

namespace rocksieve::experiments {

AllPairs CompareAllPairs(const Corpus& corpus) {
  AllPairs pairs;
  const double start = bench::CpuClock::Nanoseconds();
  for (size_t a = 0; a < corpus.sets.size(); a++) {
    for (size_t b = a + 1; b < corpus.sets.size(); b++) {
      const double similarity = JaccardOf(corpus.sets[a], corpus.sets[b]);
      if (similarity < kLeastListedSimilarity) {
        pairs.unlisted[static_cast<size_t>(1000 * similarity)]++;
      } else {
        pairs.listed.push_back({static_cast<uint32_t>(a), static_cast<uint32_t>(b), similarity});
      }
    }
  }
  pairs.cpu_seconds = 1e-9 * (bench::CpuClock::Nanoseconds() - start);
  pairs.compared = corpus.sets.size() * (corpus.sets.size() - 1) / 2;
  return pairs;
}

}  // namespace rocksieve::experiments
