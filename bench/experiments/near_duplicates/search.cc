// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/near_duplicates/search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/compare/clock.h"

namespace rocksieve::experiments {
namespace {

// Of one search, under one seed.
struct SearchResult {
  uint64_t candidates = 0;
  uint64_t found = 0;              // candidates at or above the threshold, exactly compared
  uint64_t found_by_estimate = 0;  // at or above it by their signatures
  uint64_t wrong_by_estimate = 0;  // of these, below it in truth
  double signing_seconds = 0, search_seconds = 0;  // CPU
  std::vector<BinCounts> bins;                     // kBins, of listed pairs
};

size_t BinOf(double similarity) {
  // 0.3 * 10 is below 3 in floating point; no two similarities that differ are as near.
  return std::min(static_cast<size_t>(10 * similarity + 1e-9), kBins - 1);
}

MinHash SignatureOf(const ElementSet& set, const MinHashOptions& options) {
  MinHash signature(options);
  for (const uint32_t& element : set) {
    signature.Add({reinterpret_cast<const char*>(&element), sizeof(element)});
  }
  return signature;
}

using IdPair = std::pair<uint64_t, uint64_t>;

std::vector<BinCounts> CountBins(const AllPairs& truth, const std::vector<MinHash>& signatures,
                                 const std::vector<IdPair>& candidates, const LshOptions& options) {
  std::vector<BinCounts> bins(kBins);
  for (const SimilarPair& pair : truth.listed) {
    const double similarity = pair.similarity;
    const double error =
        MinHash::Jaccard(signatures[pair.a], signatures[pair.b]).value - similarity;
    BinCounts& bin = bins[BinOf(similarity)];
    bin.pairs++;
    bin.similarity += similarity;
    bin.met += std::binary_search(candidates.begin(), candidates.end(), IdPair(pair.a, pair.b));
    bin.within_003 += std::abs(error) <= 0.03 ? 1 : 0;
    bin.error += error;
    bin.squared_error += error * error;
    bin.expected_squared +=
        similarity * (1 - similarity) / static_cast<double>(options.signature.size);
    bin.expected_met += options.banding.CandidateProbability(similarity);
  }
  return bins;
}

SearchResult Search(const Corpus& corpus, const AllPairs& truth, const LshOptions& options,
                    double threshold) {
  SearchResult result;
  double start = bench::CpuClock::Nanoseconds();
  std::vector<MinHash> signatures;
  for (const ElementSet& set : corpus.sets) {
    signatures.push_back(SignatureOf(set, options.signature));
  }
  result.signing_seconds = 1e-9 * (bench::CpuClock::Nanoseconds() - start);

  start = bench::CpuClock::Nanoseconds();
  LshIndex index(options);
  for (size_t i = 0; i < signatures.size(); i++) index.Add(i, signatures[i]);
  const std::vector<IdPair> candidates = index.CandidatePairs();
  for (const auto& [a, b] : candidates) {
    result.found += JaccardOf(corpus.sets[a], corpus.sets[b]) >= threshold ? 1 : 0;
  }
  result.search_seconds = 1e-9 * (bench::CpuClock::Nanoseconds() - start);

  result.candidates = candidates.size();
  for (const auto& [a, b] : candidates) {
    if (MinHash::Jaccard(signatures[a], signatures[b]).value < threshold) continue;
    result.found_by_estimate++;
    result.wrong_by_estimate += JaccardOf(corpus.sets[a], corpus.sets[b]) < threshold ? 1 : 0;
  }
  result.bins = CountBins(truth, signatures, candidates, options);
  return result;
}

ExpectedCandidates Expect(const AllPairs& truth, const LshBanding& banding, double threshold) {
  ExpectedCandidates expected;
  for (const SimilarPair& pair : truth.listed) {
    const double probability = banding.CandidateProbability(pair.similarity);
    expected.all += probability;
    if (pair.similarity >= threshold) expected.similar += probability;
  }
  for (size_t i = 0; i < truth.unlisted.size(); i++) {
    // Unrelated sets are many, and share nothing; of the others the middle of their thousandth.
    const double similarity = i == 0 ? 0 : (static_cast<double>(i) + 0.5) / 1000;
    expected.all +=
        static_cast<double>(truth.unlisted[i]) * banding.CandidateProbability(similarity);
  }
  return expected;
}

void Add(const BinCounts& from, BinCounts* to) {
  to->pairs += from.pairs;
  to->similarity += from.similarity;
  to->met += from.met;
  to->within_003 += from.within_003;
  to->error += from.error;
  to->squared_error += from.squared_error;
  to->expected_squared += from.expected_squared;
  to->expected_met += from.expected_met;
}

SearchRuns RunSeeds(const Corpus& corpus, const CorpusRuns& of, MinHashMethod method,
                    const LshBanding& banding, const RunSettings& settings) {
  SearchRuns runs;
  runs.options.signature.size = settings.places;
  runs.options.signature.method = method;
  runs.options.banding = banding;
  runs.expected = Expect(of.truth, banding, settings.threshold);
  runs.bins.resize(kBins);
  runs.seeds = settings.seeds;
  for (uint64_t seed = 0; seed < settings.seeds; seed++) {
    runs.options.signature.seed = seed;
    const SearchResult result = Search(corpus, of.truth, runs.options, settings.threshold);
    runs.candidates += result.candidates;
    runs.found += result.found;
    runs.found_by_estimate += result.found_by_estimate;
    runs.wrong_by_estimate += result.wrong_by_estimate;
    runs.signing_seconds += result.signing_seconds;
    runs.search_seconds += result.search_seconds;
    if (of.similar > 0) {
      runs.recalls.push_back(static_cast<double>(result.found) / static_cast<double>(of.similar));
    }
    for (size_t bin = 0; bin < kBins; bin++) Add(result.bins[bin], &runs.bins[bin]);
  }
  return runs;
}

}  // namespace

CorpusRuns RunSearches(const Corpus& corpus, const RunSettings& settings) {
  CorpusRuns runs;
  runs.name = corpus.name;
  runs.about = corpus.about;
  runs.sets = corpus.sets.size();
  runs.truth = CompareAllPairs(corpus);
  for (const SimilarPair& pair : runs.truth.listed) {
    runs.similar += pair.similarity >= settings.threshold ? 1 : 0;
  }
  // Equally bad to miss and to look in vain; and a miss four times as bad.
  for (const double miss_weight : {1.0, 4.0}) {
    const LshBanding banding =
        LshBanding::ForThreshold(settings.places, settings.threshold, miss_weight);
    for (const MinHashMethod method :
         {MinHashMethod::kIndependent, MinHashMethod::kOnePermutation}) {
      runs.searches.push_back(RunSeeds(corpus, runs, method, banding, settings));
    }
  }
  return runs;
}

}  // namespace rocksieve::experiments
