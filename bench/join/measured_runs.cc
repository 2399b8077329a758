#include "bench/join/measured_runs.h"

#include <algorithm>
#include <vector>

#include "support/text.h"

namespace rocksieve::bench {
namespace {

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double WorstOf(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

}  // namespace

std::string NameOf(const Circumstances& circumstances) {
  return Thousands(circumstances.client) + " x " + Thousands(circumstances.server) + " keys";
}

Runs MeasureRuns(const Circumstances& circumstances, FigureRun* run) {
  std::vector<double> bytes, round_trips, cpu_seconds, link_seconds;
  Runs runs;
  for (uint64_t seed = 1; seed <= run->settings.seeds; seed++) {
    run->progress(NameOf(circumstances) + ", " + Thousands(circumstances.common) +
                  " common, seed " + std::to_string(seed));
    const KeySets sets =
        RandomKeySets(circumstances.client, circumstances.server, circumstances.common, seed);
    const Keys common = sets.Common();
    SessionSettings settings = circumstances.session;
    settings.seed = seed;
    const SessionOutcome outcome = RunSession(sets, common, settings);
    if (!outcome.error.empty()) {
      run->failures.push_back(NameOf(circumstances) + ", seed " + std::to_string(seed) + ": " +
                              outcome.error);
    }
    bytes.push_back(static_cast<double>(outcome.bytes));
    round_trips.push_back(outcome.round_trips);
    cpu_seconds.push_back(outcome.cpu_seconds);
    link_seconds.push_back(outcome.link_seconds);
    runs.repeated_ranges += outcome.statistics.repeated_ranges;
  }
  runs.median_bytes = MedianOf(bytes);
  runs.worst_bytes = WorstOf(bytes);
  runs.median_round_trips = MedianOf(round_trips);
  runs.worst_round_trips = WorstOf(round_trips);
  runs.median_cpu_seconds = MedianOf(cpu_seconds);
  runs.median_link_seconds = MedianOf(link_seconds);
  return runs;
}

}  // namespace rocksieve::bench
