// A few keys against many.
#include <algorithm>

#include "bench/join/measured_runs.h"
#include "bench/join/other_ways.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

struct Shape {
  uint64_t many, few;
  double matching;  // share of the few
};

}  // namespace

Table MeasureUnevenSides(FigureRun* run) {
  Table table;
  table.name = "uneven";
  table.title = "UNEVEN SIDES";
  table.explanation =
      "A few keys against many, on whichever side they are. Bits on the wire per key of the small "
      "side, as above, with the default ranges.";
  using Kind = Column::Kind;
  table.columns = {{"asking_keys", "client", "keys", Kind::kFixed, 0},
                   {"answering_keys", "server", "keys", Kind::kFixed, 0},
                   {"matching_percent", "matching,", "% of few", Kind::kSignificant, 2},
                   {"median_bits_per_key", "", "bits", Kind::kSignificant, 3},
                   {"worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                   {"median_round_trips", "round", "trips", Kind::kFixed, 0},
                   {"shipped_bits_per_key", "few keys", "shipped", Kind::kSignificant, 3},
                   {"bloom_join_bits_per_key", "Bloom", "join", Kind::kSignificant, 3}};
  std::vector<Shape> shapes;
  if (run->settings.quick) {
    shapes = {{100'000, 1'000, .5}};
  } else {
    shapes = {{2'000'000, 10'000, .5}, {2'000'000, 10'000, .01}};
    if (run->settings.full) shapes.push_back({20'000'000, 100'000, .5});
  }
  for (const Shape& shape : shapes) {
    const auto few = static_cast<double>(shape.few);
    const auto common = static_cast<uint64_t>(shape.matching * few);
    nlohmann::json others;
    for (const bool client_is_small : {true, false}) {
      Circumstances circumstances;
      circumstances.client = client_is_small ? shape.few : shape.many;
      circumstances.server = client_is_small ? shape.many : shape.few;
      circumstances.common = common;
      circumstances.session.strategy = run->settings.strategy;
      const Runs runs = MeasureRuns(circumstances, run);
      if (others.is_null()) {
        const KeySets sets = RandomKeySets(shape.few, shape.many, common, 1);
        others = {
            {"shipped_bits_per_key", 8 * static_cast<double>(ShippedBytes(sets.client)) / few},
            {"bloom_join_bits_per_key", 8 * static_cast<double>(RunBloomJoin(sets).bytes) / few}};
      }
      nlohmann::json row = {{"asking_keys", circumstances.client},
                            {"answering_keys", circumstances.server},
                            {"matching_percent", 100 * shape.matching},
                            {"seeds", run->settings.seeds},
                            {"median_bits_per_key", 8 * runs.median_bytes / few},
                            {"worst_bits_per_key", 8 * runs.worst_bytes / few},
                            {"median_round_trips", runs.median_round_trips},
                            {"worst_round_trips", runs.worst_round_trips},
                            {"median_cpu_seconds", runs.median_cpu_seconds}};
      row.update(others);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace rocksieve::bench
