#include "tools/demo/expectation.h"

#include <algorithm>

namespace rocksieve::tools {

std::vector<uint64_t> LookupsPerFile(const Tree& tree, std::vector<std::string_view> keys) {
  std::sort(keys.begin(), keys.end());  // bytewise, as RocksDB does
  std::vector<uint64_t> lookups;
  for (const TreeFile* file : tree.files()) {
    const auto first = std::lower_bound(keys.begin(), keys.end(), file->smallest);
    const auto end = std::upper_bound(keys.begin(), keys.end(), file->largest);
    lookups.push_back(static_cast<uint64_t>(end - first));
  }
  return lookups;
}

FileRate ExpectedRate(const Variant& variant, const Tree& tree,
                      const std::vector<uint64_t>& lookups_per_file) {
  FileRate sum;
  double lookups = 0;
  const std::vector<const TreeFile*> files = tree.files();
  for (size_t i = 0; i < files.size(); i++) {
    if (lookups_per_file[i] == 0) continue;
    const auto weight = static_cast<double>(lookups_per_file[i]);
    const FileRate rate =
        variant.expected_rate(files[i]->properties.entries, files[i]->properties.filter_bytes);
    lookups += weight;
    sum.mean += weight * rate.mean;
    sum.variance += weight * weight * rate.variance;
  }
  if (lookups == 0) return {};
  return {sum.mean / lookups, sum.variance / (lookups * lookups)};
}

}  // namespace rocksieve::tools
