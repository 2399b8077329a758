// SPDX-License-Identifier: Apache-2.0
// What queries read in a tree of several levels, by RocksDB's own counters.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/range.h>

#include "bench/range/figures.h"
#include "bench/range/workload.h"
#include "integration/tree.h"
#include "plugin/database/policy_spec.h"
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

const std::vector<TreeCandidate> kEntityCandidates = {
    {"/values/none", "none", "", "nothing"},
    {"/values/bloomfilter:12 and prefixes", "bloomfilter:12", "RocksDB\nBloom:12", "fixed:8", 8},
    {"/values/rocksieve.ribbon:10", "rocksieve.ribbon:10", "", "ribbon:10"},
    {"/values/rocksieve.range:12", "rocksieve.range:12", "", "range:12"},
    {"/values/rocksieve.range:12 with queries", "rocksieve.range:12", "range:12", "learned", 0,
     true},
    {"/values/rocksieve.range:12:prefixes-8", "rocksieve.range:12:prefixes-8", "range:12\nprefixes",
     "8"},
    {"/values/rocksieve.range:16", "rocksieve.range:16", "", "range:16"},
    {"/values/rocksieve.range:16:prefixes-8", "rocksieve.range:16:prefixes-8", "range:16\nprefixes",
     "8"}};

const std::vector<TreeCandidate> kPathCandidates = {
    {"/values/none", "none", "", "nothing"},
    {"/values/bloomfilter:12 and prefixes", "bloomfilter:12", "RocksDB\nBloom:12", "fixed:8", 8},
    {"/values/rocksieve.ribbon:10", "rocksieve.ribbon:10", "", "ribbon:10"},
    {"/values/rocksieve.range:12", "rocksieve.range:12", "", "range:12"},
    {"/values/rocksieve.range:12 with queries", "rocksieve.range:12", "range:12", "learned", 0,
     true},
    {"/values/rocksieve.range:12:prefixes-8-24", "rocksieve.range:12:prefixes-8-24",
     "range:12\nprefixes", "8-24"},
    {"/values/rocksieve.range:16:prefixes-8-24", "rocksieve.range:16:prefixes-8-24",
     "range:16\nprefixes", "8-24"}};

constexpr size_t kValueBytes = 40;

rocksdb::Options TreeOptions(const TreeCandidate& candidate, const Workload& workload) {
  uint64_t bytes = 0;
  for (const std::string& key : workload.keys) bytes += key.size() + kValueBytes + 8;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = UnsyncedEnv();
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = 1 << 30;  // flushed by hand
  options.num_levels = 8;               // that ShapeOf() asks for
  options.level_compaction_dynamic_level_bytes = false;
  options.max_bytes_for_level_base = bytes / 6;
  options.max_bytes_for_level_multiplier = 4;
  options.target_file_size_base = bytes / 18;
  options.max_background_jobs = 1;  // the same compactions for every filter
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;  // so that each block needed counts as a read
  table.optimize_filters_for_memory = false;
  PolicySpec spec;
  Must(PolicySpec::Parse(candidate.spec, &spec));
  if (spec.family() == Family::kRange) {
    Must(ConfigureRangeFilters(candidate.spec, &options, &table));
  } else {
    Must(spec.NewPolicy(&table.filter_policy));
  }
  if (candidate.prefix_bytes > 0) {
    options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(candidate.prefix_bytes));
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

class TreeMeasurement {
 public:
  TreeMeasurement(const Workload& workload, const TreeCandidate& candidate,
                  const std::string& subject, RangeRun* run)
      : workload_(workload),
        candidate_(candidate),
        name_(subject + ", " +
              std::string(candidate.field.substr(std::string_view("/values/").size()))),
        path_(run->settings.directory + "/db"),
        run_(*run),
        options_(TreeOptions(candidate, workload)) {}

  // Every flush and the compactions after it are waited for. A sixtieth of the keys stay in two
  // files of level 0.
  void Build() {
    std::filesystem::remove_all(path_);
    run_.progress.Begin(name_ + ": writing", workload_.keys.size());
    db_ = Open(options_, path_);
    constexpr size_t kFlushes = 32, kTail = 60;
    const size_t count = workload_.keys.size(), tail = count - count / kTail;
    for (size_t i = 0; i < kFlushes; i++) {
      Flush(tail * i / kFlushes, tail * (i + 1) / kFlushes);
      WaitForCompactions(db_.get());
    }
    Must(db_->SetOptions({{"disable_auto_compactions", "true"}}));
    Flush(tail, tail + (count - tail) / 2);
    Flush(tail + (count - tail) / 2, count);
  }

  // Data blocks per query; none if there is no query.
  Json AskRanges(const QueryKind& kind) {
    if (kind.ranges.empty()) return nullptr;
    Begin(kind.name, kind.ranges.size());
    for (const RangeQuery& range : kind.ranges) {
      if (!IsRight(range, kind.reading)) wrong_++;
      Advance();
    }
    return DataBlocks() / static_cast<double>(kind.ranges.size());
  }

  // Data blocks per 1,000 lookups.
  Json AskAbsentKeys() {
    if (workload_.absent_keys.empty()) return nullptr;
    Begin("absent keys", workload_.absent_keys.size());
    std::string value;
    for (const std::string& key : workload_.absent_keys) {
      if (!db_->Get(rocksdb::ReadOptions(), key, &value).IsNotFound()) wrong_++;
      Advance();
    }
    return 1000 * DataBlocks() / static_cast<double>(workload_.absent_keys.size());
  }

  void AskPresentKeys(uint64_t count) {
    Begin("present keys", count);
    std::string value;
    for (size_t i = 0; i < std::min<size_t>(count, workload_.keys.size()); i++) {
      if (!db_->Get(rocksdb::ReadOptions(), workload_.keys[i], &value).ok()) wrong_++;
      Advance();
    }
  }

  double BitsPerKey() const { return MemoryOf(db_.get()).bits(); }

  // "2 3 11 4"
  std::string FilesPerLevel() const {
    std::string shape = ShapeOf(db_.get());
    while (shape.size() > 2 && shape.substr(shape.size() - 2) == " 0")
      shape.resize(shape.size() - 2);
    return shape;
  }

  uint64_t wrong() const { return wrong_; }
  const std::string& name() const { return name_; }

  void Remove() {
    db_.reset();
    std::filesystem::remove_all(path_);
  }

 private:
  void Flush(size_t begin, size_t end) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    for (size_t i = begin; i < end; i++) {
      Must(db_->Put(write, workload_.keys[i], std::string(kValueBytes, 'v')));
      Advance();
    }
    Must(db_->Flush(rocksdb::FlushOptions()));
  }

  void Begin(const std::string& step, uint64_t queries) {
    run_.progress.Begin(name_ + ": " + step, queries);
    rocksdb::SetPerfLevel(rocksdb::kEnableCount);
    rocksdb::get_perf_context()->Reset();
  }

  void Advance() {
    if (!run_.progress.Advance()) throw std::runtime_error("interrupted");
  }

  static double DataBlocks() {
    const rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
    return static_cast<double>(perf.block_read_count - perf.index_block_read_count -
                               perf.filter_block_read_count);
  }

  // Whether an iterator gives just the keys of the range.
  bool IsRight(const RangeQuery& range, Reading reading) const {
    const rocksdb::Slice begin = range.begin, end = range.end;
    rocksdb::ReadOptions read;
    if (reading != Reading::kUnbounded) read.iterate_upper_bound = &end;
    if (reading == Reading::kBackwards) read.iterate_lower_bound = &begin;
    read.auto_prefix_mode = candidate_.prefix_bytes > 0;  // ours need nothing of the kind
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
    std::vector<std::string> found;
    if (reading == Reading::kBackwards) {
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
        found.insert(found.begin(), iterator->key().ToString());
      }
    } else {
      for (iterator->Seek(begin); iterator->Valid(); iterator->Next()) {
        if (reading == Reading::kUnbounded && iterator->key().compare(end) >= 0) break;
        found.push_back(iterator->key().ToString());
      }
    }
    const auto& sorted = workload_.sorted;
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), range.begin);
    const auto last = std::lower_bound(first, sorted.end(), range.end);
    return iterator->status().ok() && std::equal(found.begin(), found.end(), first, last);
  }

  const Workload& workload_;
  const TreeCandidate& candidate_;
  const std::string name_, path_;
  RangeRun& run_;
  const rocksdb::Options options_;  // one policy for all that is built
  DbPtr db_;
  uint64_t wrong_ = 0;
};

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
    TreeMeasurement tree(workload, candidate, subject, run);
    tree.Build();
    if (candidate.learns) {
      for (const QueryKind& kind : workload.kinds) tree.AskRanges(kind);
      tree.AskAbsentKeys();
      tree.Remove();
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
    tree.Remove();
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
