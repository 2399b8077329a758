// SPDX-License-Identifier: Apache-2.0
// Whether the plan takes as few bytes as the best fixed strategy where many keys are in common, and
// filters before a sketch begin to cost more than they save. `./run bench join --only=plans`.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/join/session_run.h"
#include "support/text.h"

namespace rocksieve::bench {

Table MeasureBytePlans(FigureRun* run) {
  constexpr join::Strategy kFixed[] = {join::Strategy::kPingPong, join::Strategy::kSketch,
                                       join::Strategy::kSymbols};
  constexpr double kFewInCommon = 95;  // symbols are not worth trying
  const auto keys = static_cast<double>(run->settings.keys);
  Table table;
  table.name = "plans";
  table.title = "PLANS";
  table.explanation =
      "Two sides of " + Thousands(run->settings.keys) +
      " random keys of 16 bytes each, in one range, with bytes alone in mind. Bits on the wire, "
      "both ways, per key of one side: as planned, by a sketch at once, and by the best fixed "
      "strategy, which may be that. Medians of " +
      std::to_string(run->settings.seeds) + " runs, which have the same keys in all columns.";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"planned_bits_per_key", "", "planned", Kind::kSignificant, 4},
                   {"sketch_bits_per_key", "", "sketch", Kind::kSignificant, 4},
                   {"best_bits_per_key", "best", "fixed", Kind::kSignificant, 4},
                   {"best", "", "which", Kind::kText, 0},
                   {"ratio", "planned", ": best", Kind::kSignificant, 3}};
  std::vector<double> percents = run->settings.overlap_percents;
  if (!run->settings.overlaps_are_given) {
    percents.clear();
    for (int percent = 80; percent <= 99; percent++) percents.push_back(percent);
  }
  for (const double percent : percents) {
    Circumstances circumstances;
    circumstances.client = circumstances.server = run->settings.keys;
    circumstances.common = static_cast<uint64_t>(std::llround(percent / 100 * keys));
    circumstances.session.operation = join::Operation::kCount;
    circumstances.session.keys_per_range = run->settings.keys;
    std::vector<SessionSettings> ways = {circumstances.session};
    for (const join::Strategy strategy : kFixed) {
      if (strategy == join::Strategy::kSymbols && percent < kFewInCommon) continue;
      ways.push_back(circumstances.session);
      ways.back().strategy = strategy;
    }
    const std::vector<Runs> runs = MeasureByTurns(circumstances, ways, run);
    const auto bits = [&](size_t way) { return 8 * runs[way].median_bytes / keys; };
    size_t best = 1;
    nlohmann::json row = {{"overlap_percent", percent},
                          {"seeds", run->settings.seeds},
                          {"planned_bits_per_key", bits(0)}};
    for (size_t way = 1; way < ways.size(); way++) {
      row[std::string(NameOf(ways[way].strategy)) + "_bits_per_key"] = bits(way);
      if (bits(way) < bits(best)) best = way;
    }
    row["best_bits_per_key"] = bits(best);
    row["best"] = NameOf(ways[best].strategy);
    row["ratio"] = bits(0) / bits(best);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace rocksieve::bench
