#include <algorithm>
#include <memory>

#include <rocksdb/table.h>
#include <rocksieve/filter.h>

#include "lib/budget/allocation.h"
#include "plugin/rocksdb_abi.h"
#include "tools/whatif/partitions.h"
#include "tools/whatif/prediction.h"

namespace rocksieve::tools {
namespace {

// What the policy reckons for the entry of a partition in the index, beside its key
// (plugin/auto/decider.cc).
constexpr double kReckonedIndexEntryBytes = 14;

// RocksDB asks for this before the first decision, so it is the same for all files.
uint64_t KeysPerPartition(const PolicySpec& spec, const FilterOptions& options) {
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  if (!options.partitioned || !spec.NewPolicy(&policy).ok()) return 0;
  const rocksdb::BlockBasedTableOptions table_options;
  const rocksdb::FilterBuildingContext context(table_options);  // of no database
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  return builder->ApproximateNumEntries(WantedPartitionBytes(options));
}

class Model {
 public:
  Model(const PlannedTree& tree, const PolicySpec& spec)
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
    AllocatorOptions options = spec_.ForAllocator();
    options.bits_per_entry = bits_per_entry;
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
      return {choice.family, BlockBytes(choice, file.filter_keys, file), choice.rate};
    }
    const Partitions partitions = PartitionsOf(file, tree_.options, keys_per_partition_);
    const uint64_t keys = std::min(partitions.keys_full, file.filter_keys);
    const double index_bits = 8 * (kReckonedIndexEntryBytes + file.key_bytes);
    const FilterChoice of_partition = allocator.HullFor(keys).Choose(
        choice.bits_per_key - index_bits / static_cast<double>(keys));
    PredictedFilter filter = {of_partition.family, partitions.index_bytes, of_partition.rate};
    filter.bytes +=
        static_cast<double>(partitions.full) * BlockBytes(of_partition, partitions.keys_full, file);
    if (partitions.keys_last != 0) {
      filter.bytes += BlockBytes(of_partition, partitions.keys_last, file);
    }
    return filter;
  }

  double BlockBytes(const FilterChoice& choice, uint64_t keys, const PlannedFile& file) const {
    if (choice.family == Family::kNone) return 0;
    return file.range_bytes +
           static_cast<double>(FilterBuilder(spec_.SpecFor(choice)).EstimateBlockBytes(keys));
  }

  const PlannedTree& tree_;
  const AutoSpec& spec_;
  const uint64_t keys_per_partition_;
  std::vector<BudgetedFile> files_;
  double entries_ = 0;
};

}  // namespace

std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const PolicySpec& spec) {
  const Model model(tree, spec);
  const double budget = spec.bits();
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

}  // namespace rocksieve::tools
