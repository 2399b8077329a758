#include "experiments/near_duplicates/runs.h"

namespace rocksieve::experiments {
namespace {

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
