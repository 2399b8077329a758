// The experiment "near_duplicates": which of many sets are similar? MinHash signatures and
// locality-sensitive hashing against the comparison of all pairs; what theory says of errors,
// recall and precision against what is seen. Source: Leskovec, Rajaraman, Ullman, "Mining of
// massive datasets", chapter 3.
#include <cmath>
#include <filesystem>

#include "experiments/frame/confidence.h"
#include "experiments/frame/experiment.h"
#include "experiments/near_duplicates/report.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

// As published for pairs of MovieLens users.
constexpr double kThreshold = 0.6;
constexpr uint64_t kPlaces = 128;

void Check(const CorpusRuns& runs, Run* run) {
  if (runs.truth.compared == 0) {
    run->failures.push_back("near duplicates: there are no " + runs.about);
  }
  for (const SearchRuns& search : runs.searches) {
    if (search.options.signature.method != MinHashMethod::kIndependent || runs.similar == 0) {
      continue;
    }
    // The seeds' results scatter, since all pairs share the hash functions: their mean must be
    // where theory says, but for three times its confidence interval.
    const Mean recall = MeanOf(search.recalls);
    const double expected = search.expected.similar / static_cast<double>(runs.similar);
    if (std::abs(recall.value - expected) > 3 * recall.half_width + 0.02) {
      run->failures.push_back("near duplicates, " + runs.name + ": recall is " +
                              Significant(recall.value, 3) + ", expected " +
                              Significant(expected, 3));
    }
  }
}

}  // namespace

Outcome MeasureNearDuplicates(Run* run) {
  const std::string directory = run->settings.directory + "/near_duplicates";
  std::filesystem::create_directories(directory);
  RunSettings settings;
  settings.threshold = kThreshold;
  settings.places = kPlaces;
  settings.seeds = run->settings.quick ? 5 : 10;
  const size_t most_summaries = run->settings.quick ? 1000 : 10000;
  std::vector<CorpusRuns> all;
  for (const Corpus& corpus : {InstalledDescriptions(directory), InstalledFiles(),
                               AvailableSummaries(directory, most_summaries)}) {
    run->progress(corpus.name);
    all.push_back(RunSearches(corpus, settings));
    Check(all.back(), run);
  }
  return {{SearchTable(all, settings), EstimateTable(all, settings)}, {MeetingPicture(all)}};
}

}  // namespace rocksieve::experiments
