// SPDX-License-Identifier: Apache-2.0
// What queries read in a tree of several levels, by RocksDB's own counters; and how near
// rocksieve.auto for lookups and ranges comes to the best that one can choose by hand.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bench/range/figures.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

// A filter, and its column.
struct TreeCandidate {
  const char* name;  // in rows: the spec, and perhaps words behind it
  const char* head;
  const char* subhead;
  size_t prefix_bytes = 0;  // of RocksDB's own prefix filters; 0: none
  bool learns = false;      // the policy hears all queries before the tree is written

  std::string spec() const { return std::string(name).substr(0, std::string(name).find(' ')); }
  Column column() const { return {name, head, subhead, Column::Kind::kSignificant, 3}; }
};

// Those of both tables.
constexpr TreeCandidate kCommon[] = {
    {"none", "", "nothing"},
    {"bloomfilter:12 and prefixes", "RocksDB\nBloom:12", "fixed:8", 8},
    {"rocksieve.ribbon:10", "", "ribbon:10"},
    {"rocksieve.range:12", "", "range:12"},
    {"rocksieve.range:12 with queries", "range:12", "learned", 0, true}};

Table MeasureTrees(const std::vector<TreeCandidate>& own, const Workload& workload,
                   const std::string& subject, RangeRun* run) {
  std::vector<TreeCandidate> candidates(std::begin(kCommon), std::end(kCommon));
  candidates.insert(candidates.end(), own.begin(), own.end());
  nlohmann::json kinds = nlohmann::json::array();
  const auto row = [](const std::string& query, const char* unit, const nlohmann::json& queries) {
    return nlohmann::json{{"query", query}, {"group", unit}, {"queries", queries}};
  };
  for (const QueryKind& kind : workload.kinds) {
    kinds.push_back(row(kind.name, "data blocks per query", kind.ranges.size()));
  }
  nlohmann::json gets =
      row("Get of absent keys", "data blocks per 1,000 lookups", workload.absent_keys.size());
  nlohmann::json bits = row("filter bits per key", "trees", nullptr);
  nlohmann::json files = row("files by level", "trees", nullptr);
  nlohmann::json wrong = row("wrong answers", "trees", nullptr);
  for (const TreeCandidate& candidate : candidates) {
    const std::string field = candidate.name;
    MeasuredTree tree(workload, candidate.spec(), candidate.prefix_bytes, subject + ", " + field,
                      run);
    tree.Build();
    if (candidate.learns) {
      for (const QueryKind& kind : workload.kinds) tree.AskRanges(kind);
      tree.AskAbsentKeys();
      tree.Build();
    }
    bits[field] = tree.BitsPerKey();
    files[field] = tree.FilesPerLevel();
    for (size_t i = 0; i < workload.kinds.size(); i++) {
      kinds[i][field] = tree.AskRanges(workload.kinds[i]);
    }
    gets[field] = tree.AskAbsentKeys();
    tree.AskPresentKeys(run->settings.gets);
    wrong[field] = tree.wrong();
  }
  Table table;
  table.name = subject;
  table.columns = {{"query", "", "", Column::Kind::kText}};
  table.rows = std::move(kinds);
  for (const nlohmann::json& other : {gets, bits, files, wrong}) table.rows.push_back(other);
  for (const TreeCandidate& candidate : candidates) table.columns.push_back(candidate.column());
  return table;
}

constexpr const char* kHowTreesAreRead =
    " Data blocks that RocksDB reads without a block cache, as its own counters have them. Queries "
    "are iterators with an upper bound, unless it says otherwise; they are read to the end, and "
    "every answer is compared with a sorted list of the keys. RocksDB's prefix filter needs "
    "auto_prefix_mode, which it has here; ours take plain ReadOptions. ribbon and range are "
    "rocksieve's. Learned: the tree is written by a policy that has heard all these queries "
    "before, the others by fresh ones.";

constexpr const char* kAuto = "rocksieve.auto:12:range";

// What one can choose by hand, with the bits of kAuto.
constexpr TreeCandidate kByHand[] = {
    {"rocksieve.ribbon:12", "", "ribbon"},
    {"rocksieve.auto:12", "", "auto"},
    {"rocksieve.range:12", "", "range"},
    {"rocksieve.range:12:prefixes-8", "range", "prefixes"},
    {"rocksieve.range:12:prefixes-8:order-0", "range", "no order"}};

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

Reads MeasureByHand(const Workload& workload, const std::vector<QueryKind>& kinds, const char* spec,
                    RangeRun* run) {
  MeasuredTree tree(workload, spec, 0, std::string("mixes, ") + spec, run);
  tree.Build();
  Reads reads;
  reads.lookups = tree.AskAbsentKeys().get<double>();
  for (const QueryKind& kind : kinds) {
    reads.ranges.push_back(1000 * tree.AskRanges(kind).get<double>());
  }
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
  return {{"group", kind.name},
          {"lookups", lookup_share},
          {"auto", reads},
          {"bits", tree.BitsPerKey()}};
}

}  // namespace

Table MeasureEntities(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->Begin("entities: making keys and queries");
  const Workload workload =
      EntityWorkload(settings.entity_keys, settings.range_queries, settings.gets);
  Table table = MeasureTrees({{"rocksieve.range:12:prefixes-8", "range:12\nprefixes", "8"},
                              {"rocksieve.range:16", "", "range:16"},
                              {"rocksieve.range:16:prefixes-8", "range:16\nprefixes", "8"}},
                             workload, "entities", run);
  table.title = "ENTITIES AND TIMES";
  table.explanation = Counted(workload.keys.size(), "key") +
                      " of 16 bytes: the number of an entity, about 30 keys each, and a time below "
                      "2^20. Lengths are numbers of times." +
                      kHowTreesAreRead;
  // Nearly all empty ranges of length 1 are refused by a filter.
  const nlohmann::json& shortest = table.rows[0];
  if (shortest["rocksieve.range:12"].get<double>() >= shortest["none"].get<double>() / 2) {
    run->Fail(
        "entities, rocksieve.range:12: empty ranges read about as many data blocks as without a "
        "filter, so RocksDB did not ask it");
  }
  return table;
}

Table MeasurePaths(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->Begin("paths: making keys and queries");
  const bool made = settings.path_file.empty();
  const Workload workload = PathWorkload(
      made ? MadePaths(settings.path_keys, 1) : PathsFrom(settings.path_file, settings.path_keys),
      settings.range_queries, settings.gets);
  Table table = MeasureTrees({{"rocksieve.range:12:prefixes-8-24", "range:12\nprefixes", "8-24"},
                              {"rocksieve.range:16:prefixes-8-24", "range:16\nprefixes", "8-24"}},
                             workload, "paths", run);
  table.title = "PATHS";
  table.explanation = Counted(workload.keys.size(), "key") +
                      (made ? ", made in the manner of paths of files." : ", lines of a file.") +
                      " Ranges are prefixes, but for the last three." + kHowTreesAreRead;
  return table;
}

Table MeasureMixes(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->Begin("mixes: making keys and queries");
  const Workload workload =
      EntityWorkload(settings.mix_keys, settings.range_queries, settings.mix_queries);
  const std::vector<QueryKind> kinds = KindsOf(workload);
  std::vector<Column> columns = {{"lookups", "lookups", "", Column::Kind::kPercent, 0}};
  std::vector<Reads> by_hand;
  for (const TreeCandidate& candidate : kByHand) {
    by_hand.push_back(MeasureByHand(workload, kinds, candidate.name, run));
    columns.push_back(candidate.column());
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
        row[kByHand[i].name] = reads;
        best = std::min(best, reads);
      }
      row["ratio"] = best > 0 ? nlohmann::json(row["auto"].get<double>() / best) : nullptr;
      rows.push_back(row);
    }
  }
  return {.name = "mixes",
          .title = "LOOKUPS AND RANGES",
          .explanation =
              Counted(workload.keys.size(), "key") +
              " as in the table of entities. Data blocks per 1,000 queries, of which a share are "
              "lookups of absent keys and the others empty ranges, with filters of 12 bits per "
              "key. Settings chosen by hand, and rocksieve.auto:12:range on a tree that is written "
              "again once it has heard such queries, with what it reads over the best by hand.",
          .columns = columns,
          .rows = rows};
}

}  // namespace rocksieve::bench
