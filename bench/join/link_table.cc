// Time over a slow link.
#include <ctime>
#include <vector>

#include "bench/join/measured_runs.h"
#include "bench/join/other_ways.h"
#include "support/text.h"

namespace rocksieve::bench {

Table MeasureLink(FigureRun* run) {
  constexpr double kRoundTripSeconds = .05, kBitsPerSecond = 20e6;
  const Link link = {kRoundTripSeconds, kBitsPerSecond};
  const uint64_t keys = run->settings.keys;
  Table table;
  table.name = "link";
  table.title = "LINK";
  table.explanation =
      "Two sides of " + Thousands(keys) +
      " keys over a link of 50 ms round trip and 20 Mbit/s each way, with the default ranges. "
      "Seconds until the client knows which of its keys are matched, on a simulated link: CPU time "
      "as measured here, transfer and delay as computed. Shipping: a request, then all keys, "
      "front-coded and compressed, as fast as the link takes them, without any CPU time.";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"median_seconds", "", "seconds", Kind::kSignificant, 3},
                   {"median_cpu_seconds", "of CPU,", "both sides", Kind::kSignificant, 3},
                   {"median_bytes", "", "bytes", Kind::kFixed, 0},
                   {"shipping_seconds", "shipping,", "seconds", Kind::kSignificant, 3},
                   {"shipped_bytes", "shipping,", "bytes", Kind::kFixed, 0},
                   {"times_faster", "times", "faster", Kind::kSignificant, 3}};
  for (const double percent : {0., 50., 98., 99.9}) {
    Circumstances circumstances;
    circumstances.client = circumstances.server = keys;
    circumstances.common = static_cast<uint64_t>(percent / 100 * static_cast<double>(keys));
    circumstances.session.strategy = run->settings.strategy;
    circumstances.session.link = link;
    const Runs runs = MeasureRuns(circumstances, run);
    const KeySets sets = RandomKeySets(keys, keys, circumstances.common, 1);
    const auto shipped = static_cast<double>(ShippedBytes(sets.server));
    const double shipping_seconds = kRoundTripSeconds + link.SecondsFor(shipped);
    table.rows.push_back({{"overlap_percent", percent},
                          {"keys_per_side", keys},
                          {"seeds", run->settings.seeds},
                          {"median_seconds", runs.median_link_seconds},
                          {"median_cpu_seconds", runs.median_cpu_seconds},
                          {"median_bytes", runs.median_bytes},
                          {"shipping_seconds", shipping_seconds},
                          {"shipped_bytes", shipped},
                          {"times_faster", shipping_seconds / runs.median_link_seconds}});
  }
  return table;
}

}  // namespace rocksieve::bench
