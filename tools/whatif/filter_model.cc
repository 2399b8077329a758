#include "tools/whatif/filter_model.h"

#include <algorithm>
#include <bit>

#include <rocksdb/table.h>
#include <rocksieve/filter.h>

#include "lib/budget/builtin_model.h"
#include "plugin/rocksdb_abi.h"
#include "plugin/tables/legacy_bloom.h"
#include "tools/command/policy_spec.h"
#include "tools/whatif/partitions.h"

namespace rocksieve::tools {
namespace {

// Files of nearly as many keys have nearly the same filter: counts keep so many bits (0.2 %).
constexpr int kCountBits = 10;

uint64_t Rounded(uint64_t keys) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(keys)) - kCountBits);
  return keys >> shift << shift;
}

bool BuiltinRibbonMakesBloom(const Contender& contender, const FilterOptions& options,
                             const PlannedFile& file) {
  if (options.fifo) return false;  // RibbonFilterPolicy::GetBuilderWithContext(), RocksDB 7.8
  return (file.flushed ? -1 : file.level) < contender.bloom_before_level;
}

}  // namespace

FilterModel::FilterModel(const Contender& contender, const FilterOptions& options)
    : contender_(contender), options_(options) {
  // Contenders are made from specs that MakePolicy() took.
  MakePolicy(contender.spec, &policy_).PermitUncheckedError();
}

FilterModel::Block FilterModel::BlockOf(uint64_t keys, bool bloom_instead,
                                        const PlannedFile& file) {
  // RocksDB's Ribbon comes in steps, and costs nothing to predict.
  const bool in_steps = contender_.kind == ContenderKind::kBuiltinRibbon && !bloom_instead;
  const uint64_t rounded = in_steps ? keys : Rounded(keys);
  const auto [found, is_new] = blocks_.try_emplace({rounded, bloom_instead});
  Block& block = found->second;
  if (is_new && contender_.kind == ContenderKind::kOurs) {
    block.kind = KindOf(contender_.ours.family);
    block.bytes = static_cast<double>(FilterBuilder(contender_.ours).EstimateBlockBytes(rounded));
    block.rate = ExpectedFalsePositiveRate(contender_.ours, rounded);
  } else if (is_new && contender_.kind == ContenderKind::kBuiltinBloom && options_.legacy_bloom) {
    const LegacyBloom filter = PredictLegacyBloom(rounded, contender_.bits);
    block = {FilterKind::kBuiltinBloom, filter.bytes, filter.rate};
  } else if (is_new) {
    const bool bloom = !in_steps;
    const BuiltinFilter filter =
        bloom ? BuiltinBloom(rounded, contender_.bits) : BuiltinRibbon(rounded, contender_.bits);
    block = {bloom ? FilterKind::kBuiltinBloom : FilterKind::kBuiltinRibbon, filter.bytes,
             filter.rate};
  }
  Block exact = block;
  if (rounded != 0) exact.bytes *= static_cast<double>(keys) / static_cast<double>(rounded);
  if (contender_.kind == ContenderKind::kOurs) exact.bytes += file.range_bytes;
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
  if (contender_.kind == ContenderKind::kNone || file.filter_keys == 0) return {};
  if (options_.skip_bottommost && file.bottommost) return {};
  const bool bloom_instead = contender_.kind == ContenderKind::kBuiltinRibbon &&
                             BuiltinRibbonMakesBloom(contender_, options_, file);
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
    filter.kind = block.kind;
    filter.bytes += static_cast<double>(count) * block.bytes;
    filter.rate += share * block.rate;
  };
  add(partitions.full, partitions.keys_full);
  add(1, partitions.keys_last);
  return filter;
}

}  // namespace rocksieve::tools
