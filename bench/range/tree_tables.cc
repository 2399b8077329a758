// SPDX-License-Identifier: Apache-2.0
// What queries read in a tree of several levels, by RocksDB's own counters.
#include <string>
#include <utility>
#include <vector>

#include "bench/range/figures.h"
#include "bench/range/measured_tree.h"
#include "bench/range/workload.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

// A filter, and its column.
struct TreeCandidate {
  std::string_view field;  // a pointer into rows
  const char* spec;
  const char* head;
  const char* subhead;
  size_t prefix_bytes = 0;  // of RocksDB's own prefix filters; 0: none
  bool learns = false;      // the policy hears all queries before the tree is written
};

// Those of both tables, and then the table's own.
std::vector<TreeCandidate> WithCommonCandidates(const std::vector<TreeCandidate>& own) {
  std::vector<TreeCandidate> candidates = {
      {"/values/none", "none", "", "nothing"},
      {"/values/bloomfilter:12 and prefixes", "bloomfilter:12", "RocksDB\nBloom:12", "fixed:8", 8},
      {"/values/rocksieve.ribbon:10", "rocksieve.ribbon:10", "", "ribbon:10"},
      {"/values/rocksieve.range:12", "rocksieve.range:12", "", "range:12"},
      {"/values/rocksieve.range:12 with queries", "rocksieve.range:12", "range:12", "learned", 0,
       true}};
  candidates.insert(candidates.end(), own.begin(), own.end());
  return candidates;
}

const std::vector<TreeCandidate> kEntityCandidates =
    WithCommonCandidates({{"/values/rocksieve.range:12:prefixes-8", "rocksieve.range:12:prefixes-8",
                           "range:12\nprefixes", "8"},
                          {"/values/rocksieve.range:16", "rocksieve.range:16", "", "range:16"},
                          {"/values/rocksieve.range:16:prefixes-8", "rocksieve.range:16:prefixes-8",
                           "range:16\nprefixes", "8"}});

const std::vector<TreeCandidate> kPathCandidates =
    WithCommonCandidates({{"/values/rocksieve.range:12:prefixes-8-24",
                           "rocksieve.range:12:prefixes-8-24", "range:12\nprefixes", "8-24"},
                          {"/values/rocksieve.range:16:prefixes-8-24",
                           "rocksieve.range:16:prefixes-8-24", "range:16\nprefixes", "8-24"}});

std::vector<Column> TreeColumns(const std::vector<TreeCandidate>& candidates) {
  std::vector<Column> columns = {{"query", "", "", Column::Kind::kText}};
  for (const TreeCandidate& candidate : candidates) {
    columns.push_back(
        {candidate.field, candidate.head, candidate.subhead, Column::Kind::kSignificant, 3});
  }
  return columns;
}

// A row for each kind of query, and what else there is to say of each filter.
struct TreeRows {
  nlohmann::json kinds = nlohmann::json::array();
  nlohmann::json gets, bits, files, wrong;

  explicit TreeRows(const Workload& workload) {
    for (const QueryKind& kind : workload.kinds) {
      kinds.push_back(Row(kind.name, "data blocks per query", kind.ranges.size()));
    }
    gets = Row("Get of absent keys", "data blocks per 1,000 lookups", workload.absent_keys.size());
    bits = Row("filter bits per key", "trees", nullptr);
    files = Row("files by level", "trees", nullptr);
    wrong = Row("wrong answers", "trees", nullptr);
  }

  static nlohmann::json Row(const std::string& query, const std::string& unit,
                            const nlohmann::json& queries) {
    return {{"query", query}, {"group", unit}, {"queries", queries}};
  }

  nlohmann::json All() const {
    nlohmann::json rows = kinds;
    for (const nlohmann::json& row : {gets, bits, files, wrong}) rows.push_back(row);
    return rows;
  }
};

nlohmann::json MeasureTrees(const std::vector<TreeCandidate>& candidates, const Workload& workload,
                            const std::string& subject, RangeRun* run) {
  TreeRows rows(workload);
  for (const TreeCandidate& candidate : candidates) {
    const nlohmann::json::json_pointer field{std::string(candidate.field)};
    const std::string name =
        subject + ", " + std::string(candidate.field.substr(std::string_view("/values/").size()));
    MeasuredTree tree(workload, candidate.spec, candidate.prefix_bytes, name, run);
    tree.Build();
    if (candidate.learns) {
      for (const QueryKind& kind : workload.kinds) tree.AskRanges(kind);
      tree.AskAbsentKeys();
      tree.Build();
    }
    rows.bits[field] = tree.BitsPerKey();
    rows.files[field] = tree.FilesPerLevel();
    for (size_t i = 0; i < workload.kinds.size(); i++) {
      rows.kinds[i][field] = tree.AskRanges(workload.kinds[i]);
    }
    rows.gets[field] = tree.AskAbsentKeys();
    tree.AskPresentKeys(run->settings.gets);
    rows.wrong[field] = tree.wrong();
    if (tree.wrong() > 0) {
      run->failures.push_back(tree.name() + ": " + Counted(tree.wrong(), "wrong answer"));
    }
  }
  return rows.All();
}

// `values` are those of empty ranges of length 1, nearly all of which a filter refuses.
void CheckRangesAreAsked(const nlohmann::json& values, RangeRun* run) {
  if (values["rocksieve.range:12"].get<double>() < values["none"].get<double>() / 2) return;
  run->failures.push_back(
      "entities, rocksieve.range:12: empty ranges read about as many data blocks as without a "
      "filter, so RocksDB did not ask it");
}

constexpr const char* kHowTreesAreRead =
    " Data blocks that RocksDB reads without a block cache, as its own counters have them. Queries "
    "are iterators with an upper bound, unless it says otherwise; they are read to the end, and "
    "every answer is compared with a sorted list of the keys. RocksDB's prefix filter needs "
    "auto_prefix_mode, which it has here; ours take plain ReadOptions. ribbon and range are "
    "rocksieve's. Learned: the tree is written by a policy that has heard all these queries "
    "before, the others by fresh ones.";

}  // namespace

Table MeasureEntities(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->progress.Begin("entities: making keys and queries");
  const Workload workload =
      EntityWorkload(settings.entity_keys, settings.range_queries, settings.gets);
  const nlohmann::json rows = MeasureTrees(kEntityCandidates, workload, "entities", run);
  CheckRangesAreAsked(rows[0]["values"], run);
  return {.name = "entities",
          .title = "ENTITIES AND TIMES",
          .explanation = KeysHeading(workload.keys.size()) +
                         " of 16 bytes: the number of an entity, about 30 keys each, and a time "
                         "below 2^20. Lengths are numbers of times." +
                         kHowTreesAreRead,
          .columns = TreeColumns(kEntityCandidates),
          .rows = rows};
}

Table MeasurePaths(RangeRun* run) {
  const RangeSettings& settings = run->settings;
  run->progress.Begin("paths: making keys and queries");
  const bool made = settings.path_file.empty();
  const Workload workload = PathWorkload(
      made ? MadePaths(settings.path_keys, 1) : PathsFrom(settings.path_file, settings.path_keys),
      settings.range_queries, settings.gets);
  return {.name = "paths",
          .title = "PATHS",
          .explanation = KeysHeading(workload.keys.size()) +
                         (made ? ", made in the manner of paths of files." : ", lines of a file.") +
                         " Ranges are prefixes, but for the last three." + kHowTreesAreRead,
          .columns = TreeColumns(kPathCandidates),
          .rows = MeasureTrees(kPathCandidates, workload, "paths", run)};
}

}  // namespace rocksieve::bench
