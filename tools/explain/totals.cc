#include "tools/explain/totals.h"

#include <algorithm>
#include <cmath>

namespace rocksieve::tools {
namespace {

// Sums that become the means of Totals.
class Adder {
 public:
  explicit Adder(uint64_t keys) : keys_(static_cast<double>(std::max<uint64_t>(keys, 1))) {}

  void Add(const TreeFile& file, const FileProbes& probes) {
    totals_.files++;
    totals_.files_without_filter += file.error.empty() && !file.filter.exists() ? 1 : 0;
    totals_.entries += file.properties.entries;
    totals_.deletions += file.properties.deletions;
    totals_.file_bytes += file.bytes;
    totals_.filter_bytes += file.filter.bytes;
    const auto lookups = static_cast<double>(probes.lookups);
    const auto passes = static_cast<double>(probes.passes);
    lookups_ += lookups;
    passes_ += passes;
    if (!probes.filter_answers) {
      predicted_passes_ += lookups;
      return;
    }
    predicted_passes_ += lookups * file.filter.predicted_rate;
    predicted_of_filters_ += lookups * file.filter.predicted_rate;
    lookups_of_filters_ += lookups;
    passes_of_filters_ += passes;
  }

  Totals Result() const {
    Totals totals = totals_;
    totals.files_met = lookups_ / keys_;
    totals.measured_passes = passes_ / keys_;
    totals.predicted_passes = predicted_passes_ / keys_;
    totals.filter_lookups = static_cast<uint64_t>(lookups_of_filters_);
    if (lookups_of_filters_ > 0) {
      totals.predicted_rate = predicted_of_filters_ / lookups_of_filters_;
      totals.measured_rate = passes_of_filters_ / lookups_of_filters_;
    }
    return totals;
  }

 private:
  const double keys_;
  Totals totals_;
  double lookups_ = 0, passes_ = 0, predicted_passes_ = 0;
  double lookups_of_filters_ = 0, passes_of_filters_ = 0, predicted_of_filters_ = 0;
};

void AddToGroup(const FilterSummary& filter, std::vector<FilterGroup>* groups) {
  auto group = std::find_if(groups->begin(), groups->end(),
                            [&](const FilterGroup& g) { return g.family == filter.family; });
  if (group == groups->end()) {
    group = groups->insert(groups->end(), FilterGroup());
    group->family = filter.family;
    group->smallest = group->largest = filter.setting;
  }
  group->files++;
  group->partitioned_files += filter.layout == FilterLayout::kPartitioned ? 1 : 0;
  group->bytes += filter.bytes;
  group->entries += filter.entries;
  if (filter.setting.value < group->smallest.value) group->smallest = filter.setting;
  if (filter.setting.value > group->largest.value) group->largest = filter.setting;
}

}  // namespace

double Totals::BitsPerEntry() const {
  return entries == 0 ? 0 : 8 * static_cast<double>(filter_bytes) / static_cast<double>(entries);
}

double Totals::ShareWithoutFilter() const {
  return files == 0 ? 0 : static_cast<double>(files_without_filter) / static_cast<double>(files);
}

void AddUpLevels(FamilyExplanation* family) {
  Adder all(family->probes.keys);
  for (size_t i = 0; i < family->tree.levels.size(); i++) {
    const TreeLevel& level = family->tree.levels[i];
    LevelExplanation explanation;
    explanation.level = level.level;
    Adder adder(family->probes.keys);
    for (size_t j = 0; j < level.files.size(); j++) {
      const FileProbes& probes = family->probes.levels[i][j];
      adder.Add(level.files[j], probes);
      all.Add(level.files[j], probes);
      AddToGroup(level.files[j].filter, &explanation.filters);
    }
    explanation.totals = adder.Result();
    family->levels.push_back(std::move(explanation));
  }
  family->totals = all.Result();
}

}  // namespace rocksieve::tools
