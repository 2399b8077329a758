// Bits per key against how much two sides of the same size have in common.
#include <cmath>
#include <vector>

#include "bench/join/measured_runs.h"
#include "bench/join/other_ways.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

struct Limit {
  const char* field;
  int round_trips;
};

constexpr Limit kLimits[] = {{"two", 2}, {"four", 4}, {"any", 16}};

}  // namespace

Table MeasureOverlaps(FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  Table table;
  table.name = "overlaps";
  table.title = "OVERLAPS";
  table.explanation =
      "Two sides of " + Thousands(keys) +
      " random keys of 16 bytes each, in one range. Bits on the wire, both ways, per key of one "
      "side: planning, filters, sketches, checksums and frames, without rows. Median and worst "
      "of " +
      std::to_string(run->settings.seeds) +
      " runs, with a range reconciled in at most two or four round trips, or as many as pay; their "
      "number, with those that open session and range. Beside them, on the keys of one run: the "
      "keys shipped (front-coded, zstd), a Bloom join (10 bits per key, 7 probes, and the keys "
      "that "
      "pass), and rateless reconciliation alone (RIBLT).";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"two_median_bits_per_key", "2 round", "trips", Kind::kSignificant, 3},
                   {"two_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                   {"two_median_round_trips", "round", "trips", Kind::kFixed, 0},
                   {"four_median_bits_per_key", "4 round", "trips", Kind::kSignificant, 3},
                   {"four_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                   {"four_median_round_trips", "round", "trips", Kind::kFixed, 0},
                   {"any_median_bits_per_key", "any", "number", Kind::kSignificant, 3},
                   {"any_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                   {"any_median_round_trips", "round", "trips", Kind::kFixed, 0},
                   {"shipped_bits_per_key", "keys", "shipped", Kind::kSignificant, 3},
                   {"bloom_join_bits_per_key", "Bloom", "join", Kind::kSignificant, 3},
                   {"rateless_bits_per_key", "", "RIBLT", Kind::kSignificant, 3}};
  for (const double percent : run->settings.overlap_percents) {
    Circumstances circumstances;
    circumstances.client = circumstances.server = keys;
    circumstances.common =
        static_cast<uint64_t>(std::llround(percent / 100 * static_cast<double>(keys)));
    circumstances.session.keys_per_range = keys;
    circumstances.session.strategy = run->settings.strategy;
    nlohmann::json row = {
        {"overlap_percent", percent}, {"keys_per_side", keys}, {"seeds", run->settings.seeds}};
    const auto per_key = [keys](double bytes) { return 8 * bytes / static_cast<double>(keys); };
    for (const Limit& limit : kLimits) {
      circumstances.session.most_round_trips = limit.round_trips;
      const Runs runs = MeasureRuns(circumstances, run);
      const std::string name = limit.field;
      row[name + "_median_bits_per_key"] = per_key(runs.median_bytes);
      row[name + "_worst_bits_per_key"] = per_key(runs.worst_bytes);
      row[name + "_median_round_trips"] = runs.median_round_trips;
      row[name + "_worst_round_trips"] = runs.worst_round_trips;
      row[name + "_median_cpu_seconds"] = runs.median_cpu_seconds;
      row[name + "_repeated_ranges"] = runs.repeated_ranges;
    }
    run->progress("other ways, " + Thousands(circumstances.common) + " common");
    const KeySets sets = RandomKeySets(keys, keys, circumstances.common, 1);
    row["shipped_bits_per_key"] = per_key(static_cast<double>(ShippedBytes(sets.client)));
    row["bloom_join_bits_per_key"] = per_key(static_cast<double>(RunBloomJoin(sets).bytes));
    SessionSettings rateless;
    rateless.keys_per_range = keys;
    rateless.strategy = join::Strategy::kSymbols;
    const SessionOutcome outcome = RunSession(sets, sets.Common(), rateless);
    if (!outcome.error.empty()) run->failures.push_back("RIBLT: " + outcome.error);
    row["rateless_bits_per_key"] = per_key(static_cast<double>(outcome.bytes));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace rocksieve::bench
