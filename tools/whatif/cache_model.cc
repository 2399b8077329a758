// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/cache_model.h"

#include <algorithm>

#include "plugin/database/cache_advice.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

// What is less of a gain is not worth a change.
constexpr double kLeastGain = 0.05;

std::string Bytes(double bytes) { return Fixed(bytes, bytes < 10 ? 1 : 0) + " bytes"; }

}  // namespace

CacheModel::CacheModel(const PlannedTree& tree, const BlockCache& cache)
    : planned_(tree), cache_(cache) {
  tree_.layout = tree.cache_layout;
  tree_.layout.indexes_cached = true;
  for (const PlannedFile& file : tree.files) {
    UnfilteredFile cached = UnfilteredFileOf(file, file.filter_keys);
    cached.file.budgeted =
        file.filter_keys != 0 && !(tree.options.skip_bottommost && file.bottommost());
    cached.data_block_bytes *= tree.blocks_per_search;
    cached.lookup_weight = file.meets;
    cached.passed_anyway = file.prefix_present;
    tree_.files.push_back(cached);
  }
}

double CacheModel::BytesRead(const Prediction& prediction) const {
  std::vector<CachedFilter> filters;
  for (size_t i = 0; i < tree_.files.size(); i++) {
    const PredictedFilter& predicted = prediction.filters[i];
    CachedFilter& filter = filters.emplace_back();
    if (!planned_.files[i].filter_is_asked) continue;
    filter = {predicted.bytes, predicted.blocks, predicted.rate};
  }
  return ReadsThrough(cache_, WithFilters(tree_, filters)).bytes;
}

Json CacheModel::Advise(const std::vector<CacheCandidate>& candidates) const {
  const CacheAdvice advice = AdviseFor(cache_, {tree_});
  const std::string spec = advice.specs[0].ToString();
  const CacheCandidate& now = candidates[0];
  const CacheCandidate& least = *std::min_element(
      candidates.begin(), candidates.end(),
      [](const CacheCandidate& a, const CacheCandidate& b) { return a.bytes_read < b.bytes_read; });
  Json result = {{"spec", nullptr},
                 {"bytes_read_through_cache_per_missing_lookup", advice.reads.bytes},
                 {"reason", ""}};
  if (advice.bytes < static_cast<double>(AutoSpec::kMinBytes)) {
    result["reason"] = "No budget of bytes is as small as this block cache.";
  } else if (advice.reads.bytes >= (1 - kLeastGain) * least.bytes_read) {
    result["reason"] = "No budget of bytes would read less than " + least.name + ", " +
                       Bytes(least.bytes_read) + " per lookup of a missing key: " + spec +
                       advice.settings + " would read " + Bytes(advice.reads.bytes) + ".";
  } else {
    result["spec"] = spec;
    result["reason"] =
        spec + advice.settings + ": a lookup of a missing key would read " +
        Bytes(advice.reads.bytes) + " instead of " + Bytes(now.bytes_read) +
        (&least == &now ? std::string()
                        : ", and " + Bytes(least.bytes_read) + " with " + least.name) +
        ".";
  }
  return result;
}

}  // namespace rocksieve::tools
