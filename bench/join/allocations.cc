// SPDX-License-Identifier: Apache-2.0
// What joins take of the allocator. `./run bench join --allocations`.
#include "bench/compare/allocations.h"

#include <cmath>
#include <cstdint>

#include "bench/join/figures.h"
#include "bench/join/session_run.h"
#include "support/text.h"

namespace rocksieve::bench {

Table MeasureAllocations(FigureRun* run) {
  Table table;
  table.name = "allocations";
  table.title = "ALLOCATIONS";
  table.explanation =
      "Two sides of random keys of 16 bytes each, in one range, that are counted. Of both sides "
      "together, the keys themselves apart: how often memory is allocated, and the most that is "
      "held at once.";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"keys", "", "keys", Kind::kFixed, 0},
                   {"allocations", "allo-", "cations", Kind::kFixed, 0},
                   {"peak_bytes_per_key", "most bytes", "per key", Kind::kFixed, 1}};
  for (const double percent : run->settings.overlap_percents) {
    for (const uint64_t keys : {run->settings.keys / 4, run->settings.keys}) {
      run->progress("allocations, " + Shortest(percent) + " %");
      const auto common =
          static_cast<uint64_t>(std::llround(percent / 100 * static_cast<double>(keys)));
      const KeySets sets = RandomKeySets(keys, keys, common, run->settings.first_seed);
      const Keys expected = sets.Common();
      SessionSettings settings;
      settings.operation = join::Operation::kCount;
      settings.keys_per_range = keys;
      settings.strategy = run->settings.strategy;
      settings.seed = run->settings.first_seed;
      const AllocationCounter counter;
      const SessionOutcome outcome = RunSession(sets, expected, settings);
      const double peak = static_cast<double>(counter.PeakBytes());
      const size_t allocations = counter.Allocations();
      if (!outcome.error.empty()) {
        run->failures.push_back(Shortest(percent) + " %: " + outcome.error);
      }
      table.rows.push_back({{"part", Shortest(percent)},
                            {"overlap_percent", percent},
                            {"keys", keys},
                            {"allocations", allocations},
                            {"peak_bytes_per_key", peak / static_cast<double>(keys)}});
    }
  }
  return table;
}

}  // namespace rocksieve::bench
