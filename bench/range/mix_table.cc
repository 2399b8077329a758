// SPDX-License-Identifier: Apache-2.0
// How near rocksieve.auto for lookups and ranges comes to the best that one can choose by hand.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "bench/range/figures.h"
#include "bench/range/measured_tree.h"
#include "bench/range/workload.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

constexpr const char* kAuto = "rocksieve.auto:12:range";

// What one can choose by hand, with the bits of kAuto.
struct Setting {
  const char* spec;
  std::string_view field;  // a pointer into rows
  const char* head;
  const char* subhead;
};

constexpr Setting kByHand[] = {
    {"rocksieve.ribbon:12", "/values/rocksieve.ribbon:12", "", "ribbon"},
    {"rocksieve.auto:12", "/values/rocksieve.auto:12", "", "auto"},
    {"rocksieve.range:12", "/values/rocksieve.range:12", "", "range"},
    {"rocksieve.range:12:prefixes-8", "/values/rocksieve.range:12:prefixes-8", "range", "prefixes"},
    {"rocksieve.range:12:prefixes-8:order-0", "/values/rocksieve.range:12:prefixes-8:order-0",
     "range", "no order"}};

constexpr double kLookupShares[] = {1, 0.99, 0.8, 0.5, 0.2, 0};

const std::vector<std::string> kKinds = {"empty, length 16", "empty, length 4096",
                                         "empty, entity absent"};

// Data blocks per 1,000 queries.
struct Reads {
  double lookups = 0;
  std::vector<double> ranges;  // as kKinds

  double Of(double lookup_share, size_t kind) const {
    return lookup_share * lookups + (1 - lookup_share) * ranges[kind];
  }
};

std::vector<QueryKind> KindsOf(const Workload& workload) {
  std::vector<QueryKind> kinds;
  for (const std::string& name : kKinds) {
    kinds.push_back(*std::find_if(workload.kinds.begin(), workload.kinds.end(),
                                  [&](const QueryKind& kind) { return kind.name == name; }));
  }
  return kinds;
}

void NoteWrong(const MeasuredTree& tree, RangeRun* run) {
  if (tree.wrong() == 0) return;
  run->failures.push_back(tree.name() + ": " + Counted(tree.wrong(), "wrong answer"));
}

Reads MeasureByHand(const Workload& workload, const std::vector<QueryKind>& kinds, const char* spec,
                    RangeRun* run) {
  MeasuredTree tree(workload, spec, 0, std::string("mixes, ") + spec, run);
  tree.Build();
  Reads reads;
  reads.lookups = tree.AskAbsentKeys().get<double>();
  for (const QueryKind& kind : kinds) {
    reads.ranges.push_back(1000 * tree.AskRanges(kind).get<double>());
  }
  NoteWrong(tree, run);
  return reads;
}

// What a tree reads that kAuto has written again, after it has heard the queries.
nlohmann::json MeasureAuto(const Workload& workload, const QueryKind& kind, double lookup_share,
                           RangeRun* run) {
  MeasuredTree tree(workload, kAuto, 0, std::string("mixes, ") + kAuto + ", " + kind.name, run);
  tree.Build();
  tree.AskMix(kind, lookup_share, run->settings.mix_queries);
  tree.Build();
  const double reads = tree.AskMix(kind, lookup_share, run->settings.mix_queries);
  NoteWrong(tree, run);
  return {{"group", kind.name},
          {"lookups", lookup_share},
          {"auto", reads},
          {"bits", tree.BitsPerKey()}};
}

}  // namespace

Table MeasureMixes(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->progress.Begin("mixes: making keys and queries");
  const Workload workload =
      EntityWorkload(settings.mix_keys, settings.range_queries, settings.mix_queries);
  const std::vector<QueryKind> kinds = KindsOf(workload);
  std::vector<Column> columns = {{"lookups", "lookups", "", Column::Kind::kPercent, 0}};
  std::vector<Reads> by_hand;
  for (const Setting& setting : kByHand) {
    by_hand.push_back(MeasureByHand(workload, kinds, setting.spec, run));
    columns.push_back(
        {setting.field, setting.head, setting.subhead, Column::Kind::kSignificant, 3});
  }
  columns.push_back({"auto", "auto", "range", Column::Kind::kSignificant, 3});
  columns.push_back({"ratio", "over", "best", Column::Kind::kFixed, 2});
  columns.push_back({"bits", "bits", "", Column::Kind::kFixed, 1});
  nlohmann::json rows = nlohmann::json::array();
  for (size_t kind = 0; kind < kinds.size(); kind++) {
    for (const double share : kLookupShares) {
      nlohmann::json row = MeasureAuto(workload, kinds[kind], share, run);
      double best = by_hand[0].Of(share, kind);
      for (size_t i = 0; i < by_hand.size(); i++) {
        const double reads = by_hand[i].Of(share, kind);
        row["values"][kByHand[i].spec] = reads;
        best = std::min(best, reads);
      }
      row["ratio"] = best > 0 ? nlohmann::json(row["auto"].get<double>() / best) : nullptr;
      rows.push_back(row);
    }
  }
  return {.name = "mixes",
          .title = "LOOKUPS AND RANGES",
          .explanation =
              KeysHeading(workload.keys.size()) +
              " as in the table of entities. Data blocks per 1,000 queries, of which a share are "
              "lookups of absent keys and the others empty ranges, with filters of 12 bits per "
              "key. Settings chosen by hand, and rocksieve.auto:12:range on a tree that is written "
              "again once it has heard such queries, with what it reads over the best by hand.",
          .columns = columns,
          .rows = rows};
}

}  // namespace rocksieve::bench
