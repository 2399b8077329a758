// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/whatif.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "lib/budget/allocation.h"
#include "lib/filter/builder.h"
#include "lib/filter/family.h"
#include "plugin/rocksdb_abi.h"
#include "plugin/tables/decoded_filter.h"

namespace rocksieve::tools {
namespace {

// Of a block of ours with so many keys.
double RangeBytes(const PlannedFile& file, Family family, uint64_t keys) {
  const FrameVersion version = FrameVersionFor(*FindFamily(family), keys);
  return version == FrameVersion::kCompact ? file.compact_range_bytes : file.full_range_bytes;
}

// What the policy reckons for the entry of a partition in the index, beside its key
// (plugin/auto/decider.cc).
constexpr double kReckonedIndexEntryBytes = 14;

// How RocksDB cuts the filter of a file into partitions.
//
// Source: RocksDB 7.8 and 9.10, PartitionedFilterBlockBuilder and PartitionedIndexBuilder. A
// partition ends with the data block in which it reaches the number of keys that the filter's
// builder names for metadata_block_size; or earlier, since filter and index are cut together, where
// the index's partition is full. Decoupled, it ends with the key that reaches the number. Coupled,
// releases since 9.6 ask once more for the cut while they make it (DecideCutAFilterBlock): after a
// partition that reached the number comes one of a single data block.
struct Partitions {
  uint64_t full = 0;       // so many partitions ..
  uint64_t keys_full = 0;  // .. of so many keys,
  uint64_t keys_more = 0;  // after each another one of so many keys,
  uint64_t keys_last = 0;  // and a last one of the rest; 0 if nothing is left
  double index_bytes = 0;  // of the index that leads to them

  uint64_t count() const { return full * (keys_more != 0 ? 2 : 1) + (keys_last != 0 ? 1 : 0); }
};

// The size that RocksDB tells a builder for a partition: metadata_block_size less what the rest of
// a data block may add.
uint64_t WantedPartitionBytes(const FilterOptions& options) {
  const uint64_t percent = 100 - static_cast<uint64_t>(options.partition_deviation_percent);
  return (options.partition_bytes * percent + 99) / 100;
}

// `wanted_keys`: how many of them the builder wants in a partition of that size.
Partitions PartitionsOf(const PlannedFile& file, const FilterOptions& options,
                        uint64_t wanted_keys) {
  const auto keys = static_cast<double>(file.filter_keys);
  const double keys_per_data_block =
      keys / std::max(1.0, static_cast<double>(file.properties.data_blocks));
  // The key that reaches the number stands somewhere in its data block.
  double keys_per_partition =
      static_cast<double>(wanted_keys) + (options.decoupled ? 0 : keys_per_data_block / 2);
  bool full_by_keys = true;
  if (file.index_entry_bytes > 0 && !options.decoupled) {
    const double data_blocks =
        std::ceil(static_cast<double>(options.partition_bytes) / file.index_entry_bytes);
    full_by_keys = keys_per_partition < data_blocks * keys_per_data_block;
    if (!full_by_keys) keys_per_partition = data_blocks * keys_per_data_block;
  }
  const auto keys_full = static_cast<uint64_t>(std::max(1.0, std::round(keys_per_partition)));
  Partitions partitions;
  partitions.keys_full = keys_full;
  if (options.cut_twice && full_by_keys) {
    partitions.keys_more = static_cast<uint64_t>(std::max(1.0, std::round(keys_per_data_block)));
  }
  partitions.full = file.filter_keys / (keys_full + partitions.keys_more);
  partitions.keys_last = file.filter_keys % (keys_full + partitions.keys_more);
  // Its entries look like those of the index: a shortened key, and the place of a block. Decoupled,
  // they have the last key as it is.
  partitions.index_bytes =
      static_cast<double>(partitions.count()) *
      (options.decoupled ? kReckonedIndexEntryBytes + file.key_bytes : file.index_entry_bytes);
  return partitions;
}

// Files of nearly as many keys have nearly the same filter: counts keep so many bits (0.2 %).
constexpr int kCountBits = 10;

uint64_t Rounded(uint64_t keys) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(keys)) - kCountBits);
  return keys >> shift << shift;
}

// Of RocksDB's Ribbon policy, where it makes Bloom filters after all.
bool MakesBloomInstead(const PolicySpec& spec, const FilterOptions& options,
                       const PlannedFile& file) {
  if (spec.family() != Family::kRocksDbRibbon) return false;
  if (options.fifo) return false;  // RibbonFilterPolicy::GetBuilderWithContext(), RocksDB 7.8
  return (file.flushed ? -1 : file.level) < spec.rocksdb()->bloom_before_level;
}

// Predicts for one policy but rocksieve.auto, which decides for the whole tree; remembers, since
// many files are alike.
class FilterModel {
 public:
  FilterModel(const PolicySpec& spec, const FilterOptions& options)
      : spec_(spec), options_(options) {
    spec_.NewPolicy(&policy_).PermitUncheckedError();  // null: partitions are not cut
  }

  PredictedFilter Predict(const PlannedFile& file) {
    if (spec_.is_none() || file.filter_keys == 0) return {};
    if (options_.skip_bottommost && file.bottommost()) return {};
    const bool bloom_instead = MakesBloomInstead(spec_, options_, file);
    Partitions partitions;
    if (options_.partitioned) {
      partitions = PartitionsOf(file, options_, KeysPerPartition(file, bloom_instead));
    } else {
      partitions.full = 1;
      partitions.keys_full = file.filter_keys;
    }
    PredictedFilter filter;
    filter.bytes = partitions.index_bytes;
    filter.blocks = static_cast<double>(partitions.count());
    filter.rate = 0;
    const auto add = [&](uint64_t count, uint64_t keys) {
      if (count == 0 || keys == 0) return;
      const Block block = BlockOf(keys, bloom_instead, file);
      const double share =
          static_cast<double>(count * keys) / static_cast<double>(file.filter_keys);
      filter.family = block.family;
      filter.bytes += static_cast<double>(count) * block.bytes;
      filter.rate += share * block.rate;
    };
    add(partitions.full, partitions.keys_full);
    add(partitions.full, partitions.keys_more);
    add(1, partitions.keys_last);
    return filter;
  }

 private:
  struct Block {
    Family family = Family::kNone;
    double bytes = 0, rate = 1;
  };

  Block NewBlock(uint64_t keys, bool bloom_instead) const {
    if (const FilterSpec* ours = spec_.ours()) {
      const auto bytes = static_cast<double>(EstimateBlockBytes(*ours, keys));
      return {ours->family, bytes, ExpectedFalsePositiveRate(*ours, keys)};
    }
    const Family family = bloom_instead ? Family::kRocksDbBloom : spec_.family();
    const auto predict = family == Family::kRocksDbRibbon          ? BuiltinRibbon
                         : options_.legacy_bloom && !bloom_instead ? LegacyBloom
                                                                   : BuiltinBloom;
    const BuiltinFilter filter = predict(keys, spec_.bits());
    return {family, filter.bytes, filter.rate};
  }

  Block BlockOf(uint64_t keys, bool bloom_instead, const PlannedFile& file) {
    // RocksDB's Ribbon comes in steps, and costs nothing to predict.
    const bool in_steps = spec_.family() == Family::kRocksDbRibbon && !bloom_instead;
    const uint64_t rounded = in_steps ? keys : Rounded(keys);
    const auto [found, is_new] = blocks_.try_emplace({rounded, bloom_instead});
    if (is_new) found->second = NewBlock(rounded, bloom_instead);
    Block exact = found->second;
    if (rounded != 0) exact.bytes *= static_cast<double>(keys) / static_cast<double>(rounded);
    if (spec_.ours() != nullptr) exact.bytes += RangeBytes(file, exact.family, keys);
    return exact;
  }

  // As its own builder says: the rules differ.
  uint64_t KeysPerPartition(const PlannedFile& file, bool bloom_instead) {
    const auto [found, is_new] = keys_per_partition_.try_emplace(bloom_instead);
    if (!is_new) return found->second;
    rocksdb::BlockBasedTableOptions table_options;
    if (options_.legacy_bloom) table_options.format_version = 4;
    rocksdb::FilterBuildingContext context(table_options);
    if (options_.fifo) context.compaction_style = rocksdb::kCompactionStyleFIFO;
    context.level_at_creation = file.flushed ? 0 : file.level;
    context.reason = file.flushed ? rocksdb::TableFileCreationReason::kFlush
                                  : rocksdb::TableFileCreationReason::kCompaction;
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(context));
    found->second = builder == nullptr
                        ? file.filter_keys
                        : builder->ApproximateNumEntries(WantedPartitionBytes(options_));
    return found->second;
  }

  const PolicySpec spec_;
  const FilterOptions options_;
  std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  std::map<std::pair<uint64_t, bool>, Block> blocks_;  // by key count
  std::map<bool, uint64_t> keys_per_partition_;
};

// RocksDB asks for this before the first decision, so it is the same for all files.
uint64_t KeysPerPartition(const PolicySpec& spec, const FilterOptions& options) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  if (!options.partitioned || !spec.NewPolicy(&policy).ok()) return 0;
  const rocksdb::BlockBasedTableOptions table_options;
  const rocksdb::FilterBuildingContext context(table_options);  // of no database
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  return builder->ApproximateNumEntries(WantedPartitionBytes(options));
}

class AutoModel {
 public:
  AutoModel(const PlannedTree& tree, const PolicySpec& spec)
      : tree_(tree),
        spec_(*spec.automatic()),
        keys_per_partition_(KeysPerPartition(spec, tree.options)) {
    for (const PlannedFile& file : tree.files) {
      BudgetedFile described = {file.smallest, file.largest, file.entries(), file.filter_keys};
      described.budgeted = HasFilter(file);
      if (described.budgeted) entries_ += static_cast<double>(file.entries());
      files_.push_back(described);
    }
  }

  // That bring memory to the budget.
  double entries() const { return entries_; }

  // The filters if so many bits per entry are given out.
  std::vector<PredictedFilter> FiltersFor(double bits_per_entry) const {
    // Filters for ranges, if the spec has them: nobody knows how many of the queries will be.
    AllocatorOptions options =
        spec_.range_family == Family::kNone ? spec_.ForAllocator() : spec_.ForRangeAllocator();
    options.bits_per_entry = bits_per_entry;
    options.bytes = 0;
    const Allocator allocator(options);
    const std::vector<FilterChoice> choices = allocator.Ideal(files_);
    std::vector<PredictedFilter> filters;
    for (size_t i = 0; i < choices.size(); i++) {
      filters.push_back(FilterOf(allocator, tree_.files[i], choices[i]));
    }
    return filters;
  }

 private:
  bool HasFilter(const PlannedFile& file) const {
    return file.filter_keys != 0 && !(tree_.options.skip_bottommost && file.bottommost());
  }

  PredictedFilter FilterOf(const Allocator& allocator, const PlannedFile& file,
                           const FilterChoice& choice) const {
    if (!HasFilter(file)) return {};
    if (!tree_.options.partitioned) {
      return {choice.family, BlockBytes(choice, file.filter_keys, file), 1, choice.rate};
    }
    const Partitions partitions = PartitionsOf(file, tree_.options, keys_per_partition_);
    const uint64_t keys = std::min(partitions.keys_full, file.filter_keys);
    const double index_bits = 8 * (kReckonedIndexEntryBytes + file.key_bytes);
    const FilterChoice of_partition = allocator.ChooseForPartition(
        keys, choice.bits_per_key - index_bits / static_cast<double>(keys));
    PredictedFilter filter = {of_partition.family, partitions.index_bytes,
                              static_cast<double>(partitions.count()), of_partition.rate};
    const auto add = [&](uint64_t count, uint64_t of_keys) {
      if (of_keys == 0) return;
      filter.bytes += static_cast<double>(count) * BlockBytes(of_partition, of_keys, file);
    };
    add(partitions.full, partitions.keys_full);
    add(partitions.full, partitions.keys_more);
    add(1, partitions.keys_last);
    return filter;
  }

  double BlockBytes(const FilterChoice& choice, uint64_t keys, const PlannedFile& file) const {
    if (choice.family == Family::kNone) return 0;
    return RangeBytes(file, choice.family, keys) +
           static_cast<double>(EstimateBlockBytes(spec_.SpecFor(choice), keys));
  }

  const PlannedTree& tree_;
  const AutoSpec& spec_;
  const uint64_t keys_per_partition_;
  std::vector<BudgetedFile> files_;
  double entries_ = 0;
};

// What rocksieve.auto would make of a tree: the allocation that it tends to (lib/budget).
std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const PolicySpec& spec) {
  const AutoModel model(tree, spec);
  const double budget =
      spec.automatic()->ForAllocator().BitsOf(model.entries()) / std::max(1.0, model.entries());
  // Filters take a little more than the allocator thinks, and its feedback makes up for that, all
  // but one part in feedback + 1.
  const double feedback = AllocatorOptions().feedback;
  double target = budget;
  std::vector<PredictedFilter> filters = model.FiltersFor(target);
  for (int round = 0; round < 2 && model.entries() > 0; round++) {
    double bytes = 0;
    for (const PredictedFilter& filter : filters) bytes += filter.bytes;
    const double over = 8 * bytes / (target * model.entries()) - 1;
    target = std::clamp(budget * (feedback + 1) / (1 + feedback * (1 + over)), 0.6 * budget,
                        1.25 * budget);
    filters = model.FiltersFor(target);
  }
  return filters;
}

Prediction AddUp(const PlannedTree& tree, std::vector<PredictedFilter> filters) {
  Prediction prediction;
  std::map<int, LevelPrediction> levels;
  for (size_t i = 0; i < tree.files.size(); i++) {
    const PlannedFile& file = tree.files[i];
    const PredictedFilter& filter = filters[i];
    LevelPrediction& level = levels[file.level];
    level.level = file.level;
    level.files++;
    if (filter.bytes == 0) level.files_without_filter++;
    level.entries += file.entries();
    level.filter_bytes += filter.bytes;
    const double passes = file.prefix_present + (1 - file.prefix_present) * filter.rate;
    level.meets += file.meets;
    level.passes += file.meets * passes;
    level.reads += file.meets * passes * tree.blocks_per_search;
    if (filter.family == Family::kNone) continue;
    prediction.keys[filter.family] += static_cast<double>(file.filter_keys);
    prediction.probes[filter.family] += file.meets;
  }
  for (const auto& [number, level] : levels) {
    prediction.filter_bytes += level.filter_bytes;
    prediction.reads += level.reads;
    prediction.levels.push_back(level);
  }
  prediction.filters = std::move(filters);
  return prediction;
}

std::vector<PredictedFilter> PredictFilters(const PlannedTree& tree, const PolicySpec& policy) {
  if (policy.automatic() != nullptr) return PredictAuto(tree, policy);
  FilterModel model(policy, tree.options);
  std::vector<PredictedFilter> filters;
  filters.reserve(tree.files.size());
  for (const PlannedFile& file : tree.files) filters.push_back(model.Predict(file));
  return filters;
}

}  // namespace

Prediction Predict(const PlannedTree& tree, const PolicySpec& policy) {
  return AddUp(tree, PredictFilters(tree, policy));
}

Prediction PredictNow(const PlannedTree& tree) {
  std::vector<PredictedFilter> filters;
  filters.reserve(tree.files.size());
  for (const PlannedFile& file : tree.files) {
    PredictedFilter filter;
    filter.bytes = static_cast<double>(file.filter.bytes);
    filter.blocks = std::max(1.0, static_cast<double>(file.filter.partitions));
    filter.rate = file.filter_rate();
    filters.push_back(filter);
  }
  return AddUp(tree, std::move(filters));
}

}  // namespace rocksieve::tools
