// Bytes per difference between replicas.
#include <vector>

#include "bench/join/measured_runs.h"
#include "support/text.h"

namespace rocksieve::bench {

Table MeasureDifferences(FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  Table table;
  table.name = "differences";
  table.title = "DIFFERENCES";
  table.explanation = "Replicas of " + Thousands(keys) +
                      " random keys of 16 bytes, half of the differences on either side. Bytes on "
                      "the wire per difference, as above; beside them rateless reconciliation "
                      "alone (RIBLT).";
  using Kind = Column::Kind;
  table.columns = {
      {"differences", "", "differences", Kind::kFixed, 0},
      {"median_bytes_per_difference", "bytes per", "difference", Kind::kSignificant, 3},
      {"worst_bytes_per_difference", "", "worst", Kind::kSignificant, 3},
      {"median_round_trips", "round", "trips", Kind::kFixed, 0},
      {"rateless_bytes_per_difference", "", "RIBLT", Kind::kSignificant, 3},
      {"rateless_round_trips", "round", "trips", Kind::kFixed, 0}};
  for (uint64_t differences = 100; differences <= keys / 10; differences *= 10) {
    Circumstances circumstances;
    circumstances.client = circumstances.server = keys;
    circumstances.common = keys - differences / 2;
    circumstances.session.keys_per_range = keys;
    circumstances.session.strategy = run->settings.strategy;
    const Runs runs = MeasureRuns(circumstances, run);
    circumstances.session.strategy = join::Strategy::kSymbols;
    const Runs rateless = MeasureRuns(circumstances, run);
    const auto each = static_cast<double>(differences);
    table.rows.push_back({{"differences", differences},
                          {"keys_per_side", keys},
                          {"seeds", run->settings.seeds},
                          {"median_bytes_per_difference", runs.median_bytes / each},
                          {"worst_bytes_per_difference", runs.worst_bytes / each},
                          {"median_round_trips", runs.median_round_trips},
                          {"worst_round_trips", runs.worst_round_trips},
                          {"rateless_bytes_per_difference", rateless.median_bytes / each},
                          {"rateless_round_trips", rateless.median_round_trips}});
  }
  return table;
}

}  // namespace rocksieve::bench
