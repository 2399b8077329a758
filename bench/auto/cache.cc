// SPDX-License-Identifier: Apache-2.0
// cache_reads: what lookups of absent keys read where the block cache has room for two thirds of
// filters of 10 bits per key: with such filters, and with the budget of bytes that is advised.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <CLI/CLI.hpp>

#include "bench/auto/tree.h"
#include "lib/budget/cache_reads.h"
#include "plugin/database/policy_spec.h"

namespace rocksieve::bench {
namespace {

constexpr double kBitsThatDoNotFit = 10, kCacheShare = 2.0 / 3;
// On each tree, in the best of the ways to partition; and in any of them.
constexpr double kPromisedBytes = 200, kPromisedInAny = 350;

struct Candidate {
  std::string spec;        // empty: the budget of bytes that is advised
  std::string partitions;  // what stands in partitions: nothing, indexes or all
};

// How the cache is set: as RocksDB does by itself, or as docs/design/auto.md advises.
struct CacheSetting {
  double high_pri_pool_ratio;
  bool pin_top_level;
};
constexpr CacheSetting kUsual = {0.5, true}, kAdvised = {1, false};

struct Flags {
  bool smoke = false, check = false;
  double scale = 0, budget_share = 0;
  uint64_t lookups = 0;
  uint64_t metadata_block_size = 4096;
  std::vector<std::string> trees, partitions;
  std::string json, work_dir;
};

rocksdb::BlockBasedTableOptions TableFor(const Candidate& candidate, uint64_t cache_bytes,
                                         const CacheSetting& setting, const Flags& flags) {
  rocksdb::BlockBasedTableOptions table;
  Must(NewPolicy(candidate.spec, &table.filter_policy));
  table.block_cache =
      rocksdb::NewLRUCache(cache_bytes, /*num_shard_bits=*/0, /*strict_capacity_limit=*/false,
                           setting.high_pri_pool_ratio);
  table.cache_index_and_filter_blocks = true;
  table.pin_top_level_index_and_filter = setting.pin_top_level;
  if (candidate.partitions != "nothing") {
    table.partition_filters = candidate.partitions == "all";
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = flags.metadata_block_size;
  }
  return table;
}

// Looks up absent keys in an order without pattern; the first fifth of them only fills the cache.
CacheReads LookUpAbsent(rocksdb::DB* db, uint64_t keys, uint64_t lookups) {
  constexpr uint64_t kStride = 7919;
  std::string value;
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  const uint64_t warm_up = lookups / 4;
  for (uint64_t i = 0; i < warm_up + lookups; i++) {
    if (i == warm_up) perf.Reset();
    if (db->Get(rocksdb::ReadOptions(), MissingKey(i * kStride % keys), &value).ok()) {
      throw std::runtime_error("an absent key was found");
    }
  }
  const auto per_lookup = [lookups](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(lookups);
  };
  CacheReads reads;
  reads.filters = per_lookup(perf.filter_block_read_count);
  reads.indexes = per_lookup(perf.index_block_read_count);
  reads.data = per_lookup(perf.block_read_count - perf.filter_block_read_count -
                          perf.index_block_read_count);
  reads.bytes = per_lookup(perf.block_read_byte);
  return reads;
}

// The files as `doctor` sees them, whatever filters they have.
std::vector<UnfilteredFile> FilesOf(rocksdb::DB* db, std::vector<rocksdb::LiveFileMetaData>* live) {
  db->GetLiveFilesMetaData(live);
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(&tables));
  std::map<std::string, std::shared_ptr<const rocksdb::TableProperties>> by_name;
  for (const auto& [path, properties] : tables) {
    by_name[path.substr(path.rfind('/') + 1)] = properties;
  }
  std::vector<UnfilteredFile> files;
  for (const rocksdb::LiveFileMetaData& meta : *live) {
    const rocksdb::TableProperties& properties = *by_name.at(meta.name.substr(1));
    UnfilteredFile file;
    file.file = {meta.smallestkey, meta.largestkey, properties.num_entries, properties.num_entries};
    file.index_bytes = static_cast<double>(properties.index_size);
    file.data_block_bytes = static_cast<double>(properties.data_size) /
                            static_cast<double>(std::max<uint64_t>(1, properties.num_data_blocks));
    files.push_back(file);
  }
  return files;
}

CacheBudget Advice(rocksdb::DB* db, const Candidate& candidate, uint64_t cache_bytes,
                   const Flags& flags) {
  std::vector<rocksdb::LiveFileMetaData> live;
  CachedTree tree;
  tree.files = FilesOf(db, &live);
  tree.layout.indexes_partitioned = candidate.partitions != "nothing";
  tree.layout.filters_partitioned = candidate.partitions == "all";
  tree.layout.partition_bytes = static_cast<double>(flags.metadata_block_size);
  tree.layout.top_levels_pinned = kAdvised.pin_top_level;
  const BlockCache cache = {static_cast<double>(cache_bytes), kAdvised.high_pri_pool_ratio};
  const Allocator allocator((AllocatorOptions()));
  if (flags.budget_share == 0) return BestBudget(allocator, {tree}, cache);
  CacheBudget budget;
  budget.bytes = flags.budget_share * cache.bytes;
  budget.reads = ReadsThrough(cache, WithFilters(allocator, tree, budget.bytes));
  return budget;
}

nlohmann::json Json(const CacheReads& reads) {
  return {{"filter_reads", reads.filters},
          {"index_reads", reads.indexes},
          {"data_reads", reads.data},
          {"bytes", reads.bytes}};
}

// Of a tree that is written and opened anew, so that the cache begins empty.
class Bench {
 public:
  Bench(const Shape& shape, const Flags& flags, const std::string& directory, Report* report)
      : shape_(shape),
        flags_(flags),
        path_(directory + "/db"),
        report_(report),
        cache_bytes_(static_cast<uint64_t>(static_cast<double>(shape.keys) * kBitsThatDoNotFit / 8 *
                                           kCacheShare)) {}

  // A row of the table: what is read per lookup of an absent key.
  nlohmann::json Measure(Candidate candidate) {
    nlohmann::json row = {{"tree", shape_.description},
                          {"part", shape_.description},
                          {"partitions", candidate.partitions},
                          {"cache_bytes", cache_bytes_}};
    if (candidate.spec.empty()) {
      candidate.spec = "bloomfilter:10:false";
      if (tree_ == nullptr) Write(candidate);
      const CacheBudget budget =
          Advice(Reopened(candidate, kUsual), candidate, cache_bytes_, flags_);
      row["reckoned"] = Json(budget.reads);
      candidate.spec =
          "rocksieve.auto:" + std::to_string(static_cast<uint64_t>(budget.bytes)) + "B";
    }
    row["policy"] = candidate.spec;
    Write(candidate);
    report_->Begin(What(candidate) + ": asking");
    row["usual"] = Json(LookUpAbsent(Reopened(candidate, kUsual), keys_, flags_.lookups));
    row["advised"] = Json(LookUpAbsent(Reopened(candidate, kAdvised), keys_, flags_.lookups));
    row["filter_bytes"] = MemoryOf(tree_.get()).filter_bytes;
    return row;
  }

 private:
  std::string What(const Candidate& candidate) const {
    return shape_.description + ", " + candidate.spec + ", partitions: " + candidate.partitions;
  }

  rocksdb::Options Options(const Candidate& candidate, const CacheSetting& setting) const {
    return OptionsFor(shape_, TableFor(candidate, cache_bytes_, setting, flags_),
                      /*listener=*/true);
  }

  void Write(const Candidate& candidate) {
    tree_.reset();
    report_->Begin(What(candidate) + ": writing", shape_.keys);
    Tree tree = BuildTree(shape_, Options(candidate, kUsual), path_, report_);
    keys_ = tree.keys;
    tree_ = std::move(tree.db);
  }

  rocksdb::DB* Reopened(const Candidate& candidate, const CacheSetting& setting) {
    tree_.reset();
    rocksdb::Options options = Options(candidate, setting);
    options.disable_auto_compactions = true;
    tree_ = Open(options, path_);
    return tree_.get();
  }

  const Shape& shape_;
  const Flags& flags_;
  const std::string path_;
  Report* const report_;
  const uint64_t cache_bytes_;
  DbPtr tree_;
  uint64_t keys_ = 0;
};

std::vector<Candidate> Candidates() {
  return {{"bloomfilter:10:false", "nothing"},
          {"bloomfilter:10:false", "all"},
          {"ribbonfilter:10:-1", "nothing"},
          {"ribbonfilter:10:-1", "all"},
          {"rocksieve.ribbon:10", "all"},
          {"rocksieve.auto:10", "all"},
          {"", "nothing"},
          {"", "indexes"},
          {"", "all"}};
}

int MeasureAll(const Flags& flags) {
  using Kind = Column::Kind;
  Report report("bench cache", flags.json);
  const InterruptGuard guard;
  const std::unique_ptr<WorkDir> work = NewWorkDir(flags.work_dir, "cache_reads");
  Table table;
  table.name = "cache";
  table.title = "CACHE";
  table.explanation =
      "What a lookup of an absent key reads, through a cache that is set as advised; then the "
      "bytes through one as RocksDB makes it, and as reckoned for a budget of bytes.";
  table.columns = {{"tree", "", "tree", Kind::kText},
                   {"policy", "", "policy", Kind::kText},
                   {"partitions", "", "partitions", Kind::kText},
                   {"filter_bytes", "filters,", "bytes", Kind::kFixed, 0},
                   {"/advised/filter_reads", "reads of", "filters", Kind::kFixed, 4},
                   {"/advised/index_reads", "", "indexes", Kind::kFixed, 4},
                   {"/advised/data_reads", "", "data", Kind::kFixed, 4},
                   {"/advised/bytes", "bytes", "read", Kind::kFixed, 0},
                   {"/usual/bytes", "usual", "cache", Kind::kFixed, 0},
                   {"/reckoned/bytes", "", "reckoned", Kind::kFixed, 0}};
  bool as_promised = true;
  for (const Shape& shape : Shapes(flags.scale)) {
    if (!Wants(flags.trees, shape.name)) continue;
    double least = kPromisedInAny;
    Bench bench(shape, flags, work->path().string(), &report);
    for (const Candidate& candidate : Candidates()) {
      if (!Wants(flags.partitions, candidate.partitions)) continue;
      table.rows.push_back(bench.Measure(candidate));
      if (!candidate.spec.empty()) continue;
      const double bytes = table.rows.back()["advised"]["bytes"].get<double>();
      least = std::min(least, bytes);
      as_promised = as_promised && bytes <= kPromisedInAny;
    }
    as_promised = as_promised && (!flags.partitions.empty() || least <= kPromisedBytes);
  }
  if (flags.check && !as_promised) report.Fail("more bytes per lookup than promised");
  report.Add(table);
  return report.Finish();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Bytes that lookups of absent keys read, where the block cache has two thirds of what\n"
      "filters of 10 bits per key take, and holds filters, indexes and data: filters of RocksDB\n"
      "and rocksieve, whole and in partitions, beside the budget of bytes that doctor advises.\n"
      "Each is read through a cache that is set as advised (high_pri_pool_ratio=1,\n"
      "pin_top_level_index_and_filter=false), and through one as RocksDB makes it.\n",
      "bench cache");
  app.add_flag("--smoke", flags.smoke, "tiny trees, only to see that it works");
  app.add_flag("--check", flags.check,
               "exit with 1 if a budget of bytes reads more than is promised");
  app.add_option("--trees", flags.trees,
                 "only these: ratio_10_live, ratio_10, ratio_10_large, ratio_4_live, ratio_4, "
                 "universal, one_run [ratio_10,ratio_10_large,one_run]")
      ->delimiter(',');
  app.add_option("--scale", flags.scale, "times the usual 300,000 to 900,000 keys [1]");
  app.add_option("--partitions", flags.partitions, "only these: nothing, indexes, all [all three]")
      ->delimiter(',');
  app.add_option("--budget", flags.budget_share, "of the cache, as a share [what is advised]");
  app.add_option("--metadata-block-size", flags.metadata_block_size, "of partitions [4096]");
  app.add_option("--lookups", flags.lookups, "of absent keys per tree and policy [1000000]");
  app.add_option("--json", flags.json, "write all figures to FILE");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: ./run bench cache --trees=one_run --budget=0.8");
  CLI11_PARSE(app, argc, argv);
  if (flags.trees.empty()) flags.trees = {"ratio_10", "ratio_10_large", "one_run"};
  if (flags.scale == 0) flags.scale = flags.smoke ? 0.02 : 1;
  if (flags.lookups == 0) flags.lookups = flags.smoke ? 5000 : 1000000;
  return MeasureAll(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench cache", rocksieve::bench::Main, argc, argv);
}
