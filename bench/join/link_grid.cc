// SPDX-License-Identifier: Apache-2.0
#include "bench/join/link_grid.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/join/session_run.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

constexpr double kMegabits[] = {10, 100, 1000, 10'000};
constexpr double kOverlaps[] = {0, 50, 90, 98, 99.9};
constexpr uint64_t kRanges = 8;

std::string RateName(double megabits) {
  return megabits < 1000 ? Thousands(static_cast<uint64_t>(megabits)) + " Mbit/s"
                         : Thousands(static_cast<uint64_t>(megabits / 1000)) + " Gbit/s";
}

}  // namespace

Table MeasureLinkGrid(FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  Table table;
  table.name = "grid";
  table.title = "GRID";
  table.explanation =
      "Two sides of " + Thousands(keys) + " keys in " + Thousands(kRanges) +
      " ranges, over links of several rates, each way, without delay, with one or two threads on "
      "each side. Nanoseconds per key of one side until the client knows which of its keys are "
      "matched: as planned for the link, with bytes alone in mind, by shipping the keys, and by "
      "the "
      "best fixed strategy, which may be that. Computed as in THREADS.";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"link", "", "link", Kind::kText, 0},
                   {"threads", "", "threads", Kind::kFixed, 0},
                   {"planned_ns", "planned,", "ns", Kind::kFixed, 0},
                   {"planned_bits_per_key", "", "bits", Kind::kSignificant, 3},
                   {"fewest_bytes_ns", "fewest", "bytes, ns", Kind::kFixed, 0},
                   {"keys_ns", "keys,", "ns", Kind::kFixed, 0},
                   {"best_ns", "best", "fixed, ns", Kind::kFixed, 0},
                   {"best", "", "which", Kind::kText, 0},
                   {"ratio", "planned", ": best", Kind::kSignificant, 3}};
  const auto per_key = [keys](double seconds) { return 1e9 * seconds / static_cast<double>(keys); };
  for (const double percent : kOverlaps) {
    for (const double megabits : kMegabits) {
      for (const int threads : {1, 2}) {
        Circumstances circumstances;
        circumstances.client = circumstances.server = keys;
        circumstances.common = static_cast<uint64_t>(percent / 100 * static_cast<double>(keys));
        SessionSettings& session = circumstances.session;
        session.operation = join::Operation::kCount;
        session.keys_per_range = keys / kRanges;
        session.cores = threads;
        session.ranges_ahead = 2 * static_cast<size_t>(threads);
        session.link = {0, 1e6 * megabits};
        const Runs fewest = MeasureRuns(circumstances, run);
        session.bits_per_cpu_ns = join::PriceOfLink(1e6 * megabits / 8, threads);
        double best = INFINITY;
        std::string best_name;
        double keys_seconds = 0;
        for (const join::Strategy strategy :
             {join::Strategy::kKeys, join::Strategy::kList, join::Strategy::kRibbon,
              join::Strategy::kPingPong, join::Strategy::kSketch, join::Strategy::kSymbols}) {
          session.strategy = strategy;
          const double seconds = MeasureRuns(circumstances, run).median_link_seconds;
          if (strategy == join::Strategy::kKeys) keys_seconds = seconds;
          if (seconds >= best) continue;
          best = seconds;
          best_name = NameOf(strategy);
        }
        session.strategy = join::Strategy::kAuto;
        const Runs planned = MeasureRuns(circumstances, run);
        table.rows.push_back({{"overlap_percent", percent},
                              {"link", RateName(megabits)},
                              {"megabits_per_second", megabits},
                              {"threads", threads},
                              {"planned_ns", per_key(planned.median_link_seconds)},
                              {"planned_bits_per_key", 8 * planned.median_bytes / double(keys)},
                              {"fewest_bytes_ns", per_key(fewest.median_link_seconds)},
                              {"keys_ns", per_key(keys_seconds)},
                              {"best_ns", per_key(best)},
                              {"best", best_name},
                              {"ratio", planned.median_link_seconds / best}});
      }
    }
  }
  return table;
}

}  // namespace rocksieve::bench
