#include "tools/whatif/filter_model.h"

#include <algorithm>
#include <bit>

#include <rocksdb/table.h>
#include <rocksieve/filter.h>

#include "plugin/rocksdb_abi.h"
#include "plugin/tables/builtin_model.h"
#include "tools/whatif/partitions.h"

namespace rocksieve::tools {
namespace {

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

}  // namespace

FilterModel::FilterModel(const PolicySpec& spec, const FilterOptions& options)
    : spec_(spec), options_(options) {
  spec_.NewPolicy(&policy_).PermitUncheckedError();  // null: partitions are not cut
}

FilterModel::Block FilterModel::NewBlock(uint64_t keys, bool bloom_instead) const {
  if (const FilterSpec* ours = spec_.ours()) {
    const auto bytes = static_cast<double>(FilterBuilder(*ours).EstimateBlockBytes(keys));
    return {ours->family, bytes, ExpectedFalsePositiveRate(*ours, keys)};
  }
  const Family family = bloom_instead ? Family::kRocksDbBloom : spec_.family();
  const auto predict = family == Family::kRocksDbRibbon          ? BuiltinRibbon
                       : options_.legacy_bloom && !bloom_instead ? LegacyBloom
                                                                 : BuiltinBloom;
  const BuiltinFilter filter = predict(keys, spec_.bits());
  return {family, filter.bytes, filter.rate};
}

FilterModel::Block FilterModel::BlockOf(uint64_t keys, bool bloom_instead,
                                        const PlannedFile& file) {
  // RocksDB's Ribbon comes in steps, and costs nothing to predict.
  const bool in_steps = spec_.family() == Family::kRocksDbRibbon && !bloom_instead;
  const uint64_t rounded = in_steps ? keys : Rounded(keys);
  const auto [found, is_new] = blocks_.try_emplace({rounded, bloom_instead});
  if (is_new) found->second = NewBlock(rounded, bloom_instead);
  Block exact = found->second;
  if (rounded != 0) exact.bytes *= static_cast<double>(keys) / static_cast<double>(rounded);
  if (spec_.ours() != nullptr) exact.bytes += file.range_bytes;
  return exact;
}

// As its own builder says: the rules differ.
uint64_t FilterModel::KeysPerPartition(const PlannedFile& file, bool bloom_instead) {
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

PredictedFilter FilterModel::Predict(const PlannedFile& file) {
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
  filter.rate = 0;
  const auto add = [&](uint64_t count, uint64_t keys) {
    if (count == 0 || keys == 0) return;
    const Block block = BlockOf(keys, bloom_instead, file);
    const double share = static_cast<double>(count * keys) / static_cast<double>(file.filter_keys);
    filter.family = block.family;
    filter.bytes += static_cast<double>(count) * block.bytes;
    filter.rate += share * block.rate;
  };
  add(partitions.full, partitions.keys_full);
  add(1, partitions.keys_last);
  return filter;
}

}  // namespace rocksieve::tools
