#include "whatif/auto_model.h"

#include "budget/allocation.h"

namespace rocksieve::tools {

std::vector<PredictedFilter> PredictAuto(const PlannedTree& tree, const Contender& contender) {
  AllocatorOptions options;
  options.bits_per_entry = contender.bits;
  const Allocator allocator(options);
  std::vector<rocksieve::TreeFile> files;
  files.reserve(tree.files.size());
  for (const PlannedFile& file : tree.files) {
    files.push_back({file.smallest, file.largest, file.entries, file.filter_keys});
  }
  std::vector<PredictedFilter> filters;
  for (const FilterChoice& choice : allocator.Ideal(files)) {
    const double keys = static_cast<double>(tree.files[filters.size()].filter_keys);
    filters.push_back({choice.kind, choice.bits_per_key * keys / 8, choice.rate, 1});
  }
  return filters;
}

}  // namespace rocksieve::tools
