#include "tools/whatif/prediction.h"

namespace rocksieve::tools {

Prediction AddUp(const PlannedTree& tree, const std::vector<PredictedFilter>& filters) {
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

Prediction Predict(const PlannedTree& tree, const PolicySpec& policy) {
  return AddUp(tree, PredictFilters(tree, policy));
}

Prediction PredictNow(const PlannedTree& tree) {
  std::vector<PredictedFilter> filters;
  filters.reserve(tree.files.size());
  for (const PlannedFile& file : tree.files) {
    PredictedFilter filter;
    filter.bytes = static_cast<double>(file.filter.bytes);
    filter.rate = file.filter_rate();
    filters.push_back(filter);
  }
  return AddUp(tree, filters);
}

}  // namespace rocksieve::tools
