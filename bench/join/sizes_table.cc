// Bytes and time against size.
#include <vector>

#include "bench/join/measured_runs.h"
#include "support/text.h"

namespace rocksieve::bench {

Table MeasureSizes(FigureRun* run) {
  Table table;
  table.name = "sizes";
  table.title = "SIZES";
  table.explanation =
      "Two sides of the same size with half of their keys in common, in ranges of at most " +
      Thousands(SessionSettings().keys_per_range) +
      " keys, as by default. CPU time is that of both sides together, without reading a database.";
  using Kind = Column::Kind;
  table.columns = {{"keys_per_side", "keys per", "side", Kind::kFixed, 0},
                   {"median_bytes", "", "bytes", Kind::kFixed, 0},
                   {"median_bits_per_key", "bits per", "key", Kind::kSignificant, 3},
                   {"median_round_trips", "round", "trips", Kind::kFixed, 0},
                   {"median_cpu_seconds", "CPU", "seconds", Kind::kSignificant, 3},
                   {"cpu_ns_per_key", "ns per", "key", Kind::kFixed, 0}};
  std::vector<uint64_t> sizes = {10'000, 100'000};
  if (!run->settings.quick) sizes.push_back(1'000'000);
  if (run->settings.full) sizes.insert(sizes.end(), {5'000'000, 20'000'000});
  for (const uint64_t keys : sizes) {
    Circumstances circumstances;
    circumstances.client = circumstances.server = keys;
    circumstances.common = keys / 2;
    circumstances.session.strategy = run->settings.strategy;
    const Runs runs = MeasureRuns(circumstances, run);
    const auto each = static_cast<double>(keys);
    table.rows.push_back({{"keys_per_side", keys},
                          {"seeds", run->settings.seeds},
                          {"median_bytes", runs.median_bytes},
                          {"median_bits_per_key", 8 * runs.median_bytes / each},
                          {"median_round_trips", runs.median_round_trips},
                          {"median_cpu_seconds", runs.median_cpu_seconds},
                          {"cpu_ns_per_key", 1e9 * runs.median_cpu_seconds / each}});
  }
  return table;
}

}  // namespace rocksieve::bench
