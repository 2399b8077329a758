// SPDX-License-Identifier: Apache-2.0
// cache_reads: what lookups of absent keys read where the block cache has room for two thirds of
// filters of 10 bits per key: with such filters, and with the budget of bytes that is advised.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
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
#include <nlohmann/json.hpp>

#include "bench/auto/tree.h"
#include "bench/program.h"
#include "lib/budget/cache_reads.h"
#include "plugin/database/policy_spec.h"
#include "support/progress.h"
#include "support/text.h"
#include "support/work_dir.h"

namespace rocksieve::bench {
namespace {

constexpr double kBitsThatDoNotFit = 10, kCacheShare = 2.0 / 3;
// On each tree, in the best of the ways to partition; and in any of them.
constexpr double kPromisedBytes = 200, kPromisedInAny = 350;

// What stands in partitions.
enum class Partitions { kNothing, kIndexes, kAll };
constexpr const char* kPartitionNames[] = {"nothing", "indexes", "all"};

struct Candidate {
  std::string spec;  // empty: the budget of bytes that is advised
  Partitions partitions = Partitions::kNothing;

  const char* partition_name() const { return kPartitionNames[static_cast<int>(partitions)]; }
};

// How the cache is set: as RocksDB does by itself, or as docs/design/auto.md advises.
struct CacheSetting {
  double high_pri_pool_ratio;
  bool pin_top_level;
};
constexpr CacheSetting kUsual = {0.5, true}, kAdvised = {1, false};

struct Measured {
  std::string tree;
  Candidate candidate;
  uint64_t cache_bytes = 0;
  Memory memory;
  // Per lookup of an absent key.
  CacheReads usual, advised;
  CacheReads reckoned;  // for the budget of bytes, as set by advice
};

struct Flags {
  bool smoke = false, check = false, budget_only = false;
  double scale = 0, budget_share = 0;
  int index_restart_interval = 1;
  uint64_t lookups = 0;
  uint64_t metadata_block_size = 4096;
  std::vector<std::string> trees, partitions;
  std::string json, work_dir;
};

rocksdb::BlockBasedTableOptions TableFor(const Candidate& candidate, uint64_t cache_bytes,
                                         const CacheSetting& setting, const Flags& flags) {
  rocksdb::BlockBasedTableOptions table;
  const rocksdb::Status status = NewPolicy(candidate.spec, &table.filter_policy);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  table.block_cache =
      rocksdb::NewLRUCache(cache_bytes, /*num_shard_bits=*/0, /*strict_capacity_limit=*/false,
                           setting.high_pri_pool_ratio);
  table.cache_index_and_filter_blocks = true;
  table.pin_top_level_index_and_filter = setting.pin_top_level;
  table.index_block_restart_interval = flags.index_restart_interval;
  if (candidate.partitions != Partitions::kNothing) {
    table.partition_filters = candidate.partitions == Partitions::kAll;
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
  tree.layout.indexes_partitioned = candidate.partitions != Partitions::kNothing;
  tree.layout.filters_partitioned = candidate.partitions == Partitions::kAll;
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

// Of a tree that is written and opened anew, so that the cache begins empty.
class Bench {
 public:
  Bench(const Shape& shape, const Flags& flags, std::string directory, Progress* progress)
      : shape_(shape),
        flags_(flags),
        path_(std::move(directory) + "/db"),
        progress_(progress),
        cache_bytes_(static_cast<uint64_t>(static_cast<double>(shape.keys) * kBitsThatDoNotFit / 8 *
                                           kCacheShare)) {}

  ~Bench() { std::filesystem::remove_all(path_); }

  Measured Measure(Candidate candidate) {
    Measured measured;
    measured.tree = shape_.description;
    measured.cache_bytes = cache_bytes_;
    if (candidate.spec.empty()) {
      if (tree_ == nullptr) Write({"bloomfilter:10:false", candidate.partitions});
      const CacheBudget budget =
          Advice(Reopened(candidate, kUsual), candidate, cache_bytes_, flags_);
      measured.reckoned = budget.reads;
      candidate.spec =
          "rocksieve.auto:" + std::to_string(static_cast<uint64_t>(budget.bytes)) + "B";
    }
    measured.candidate = candidate;
    Write(candidate);
    progress_->Begin(What(candidate) + ": asking");
    measured.usual = LookUpAbsent(Reopened(candidate, kUsual), keys_, flags_.lookups);
    measured.advised = LookUpAbsent(Reopened(candidate, kAdvised), keys_, flags_.lookups);
    measured.memory = MemoryOf(tree_.get());
    return measured;
  }

 private:
  std::string What(const Candidate& candidate) const {
    return shape_.description + ", " + candidate.spec +
           ", partitions: " + candidate.partition_name();
  }

  void Write(const Candidate& candidate) {
    tree_.reset();
    std::filesystem::remove_all(path_);
    progress_->Begin(What(candidate) + ": writing", shape_.keys);
    const rocksdb::Options options =
        OptionsFor(shape_, TableFor(candidate, cache_bytes_, kUsual, flags_), /*listener=*/true);
    Tree tree = BuildTree(shape_, options, path_, [this](uint64_t keys) {
      if (!progress_->Advance(keys)) throw std::runtime_error("interrupted");
    });
    keys_ = tree.keys;
    tree_ = std::move(tree.db);
  }

  rocksdb::DB* Reopened(Candidate candidate, const CacheSetting& setting) {
    if (candidate.spec.empty()) candidate.spec = "bloomfilter:10:false";
    tree_.reset();
    rocksdb::Options options =
        OptionsFor(shape_, TableFor(candidate, cache_bytes_, setting, flags_), /*listener=*/true);
    options.disable_auto_compactions = true;
    tree_ = Open(options, path_);
    return tree_.get();
  }

  const Shape& shape_;
  const Flags& flags_;
  const std::string path_;
  Progress* const progress_;
  const uint64_t cache_bytes_;
  DbPtr tree_;
  uint64_t keys_ = 0;
};

std::vector<Candidate> Candidates() {
  using enum Partitions;
  return {{"bloomfilter:10:false", kNothing},
          {"bloomfilter:10:false", kAll},
          {"ribbonfilter:10:-1", kNothing},
          {"ribbonfilter:10:-1", kAll},
          {"rocksieve.ribbon:10", kAll},
          {"rocksieve.auto:10", kAll},
          {"", kNothing},
          {"", kIndexes},
          {"", kAll}};
}

std::string ForPeople(const std::vector<Measured>& all) {
  std::vector<std::vector<std::string>> rows = {
      {"tree", "policy", "partitions", "filters,", "reads of", "", "", "bytes", "usual",
       "reckoned"},
      {"", "", "", "bytes", "filters", "indexes", "data", "read", "cache", ""}};
  for (const Measured& measured : all) {
    const CacheReads& reads = measured.advised;
    rows.push_back({measured.tree, measured.candidate.spec, measured.candidate.partition_name(),
                    Thousands(measured.memory.filter_bytes), Fixed(reads.filters, 4),
                    Fixed(reads.indexes, 4), Fixed(reads.data, 4), Fixed(reads.bytes, 0),
                    Fixed(measured.usual.bytes, 0),
                    measured.reckoned.bytes == 0 ? "" : Fixed(measured.reckoned.bytes, 0)});
  }
  return AlignedTable(rows);
}

nlohmann::json Json(const CacheReads& reads) {
  return {{"filter_reads_per_lookup", reads.filters},
          {"index_reads_per_lookup", reads.indexes},
          {"data_reads_per_lookup", reads.data},
          {"bytes_read_per_lookup", reads.bytes}};
}

nlohmann::json ForPrograms(const std::vector<Measured>& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Measured& measured : all) {
    rows.push_back({{"tree", measured.tree},
                    {"policy", measured.candidate.spec},
                    {"partitions", measured.candidate.partition_name()},
                    {"cache_bytes", measured.cache_bytes},
                    {"filter_bytes", measured.memory.filter_bytes},
                    {"bits_per_entry", measured.memory.bits()},
                    {"advised_cache", Json(measured.advised)},
                    {"usual_cache", Json(measured.usual)},
                    {"reckoned", Json(measured.reckoned)}});
  }
  return rows;
}

int MeasureAll(const Flags& flags) {
  Progress progress("bench cache");
  const InterruptGuard guard;
  std::unique_ptr<WorkDir> work;
  const rocksdb::Status status = WorkDir::Create(flags.work_dir, "cache_reads", &work);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  std::vector<Measured> all;
  bool as_promised = true;
  const bool with_all_ways = flags.partitions.empty();
  for (const Shape& shape : Shapes(flags.scale)) {
    if (!Wants(flags.trees, shape.name)) continue;
    double least = kPromisedInAny;
    Bench bench(shape, flags, work->path().string(), &progress);
    for (const Candidate& candidate : Candidates()) {
      const bool of_bytes = candidate.spec.empty();
      if (!of_bytes && flags.budget_only) continue;
      if (!flags.partitions.empty() && !Wants(flags.partitions, candidate.partition_name()))
        continue;
      all.push_back(bench.Measure(candidate));
      if (of_bytes) {
        least = std::min(least, all.back().advised.bytes);
        as_promised = as_promised && all.back().advised.bytes <= kPromisedInAny;
      }
      if (!flags.json.empty()) WriteFile(flags.json, ForPrograms(all).dump(1) + "\n");
    }
    as_promised = as_promised && (!with_all_ways || least <= kPromisedBytes);
  }
  progress.Clear();
  std::cout << ForPeople(all);
  if (flags.check && !as_promised) {
    std::cout << "FAILED: more bytes per lookup than promised\n";
    return 1;
  }
  return 0;
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
  app.add_flag("--budget-only", flags.budget_only, "no other policies");
  app.add_option("--trees", flags.trees,
                 "only these: ratio_10_live, ratio_10, ratio_10_large, ratio_4_live, ratio_4, "
                 "universal, one_run [ratio_10,ratio_10_large,one_run]")
      ->delimiter(',');
  app.add_option("--scale", flags.scale, "times the usual 300,000 to 900,000 keys [1]");
  app.add_option("--partitions", flags.partitions, "only these: nothing, indexes, all [all three]")
      ->delimiter(',');
  app.add_option("--budget", flags.budget_share, "of the cache, as a share [what is advised]");
  app.add_option("--metadata-block-size", flags.metadata_block_size, "of partitions [4096]");
  app.add_option("--index-restart-interval", flags.index_restart_interval,
                 "index_block_restart_interval [1]");
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
