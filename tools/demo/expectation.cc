#include "tools/demo/expectation.h"

#include <algorithm>

namespace rocksieve::tools {

std::vector<uint64_t> LookupsPerFile(const TreeShape& shape, std::vector<std::string_view> keys) {
  std::sort(keys.begin(), keys.end());  // bytewise, as RocksDB does
  std::vector<uint64_t> lookups;
  for (const ShapeFile& file : shape) {
    const auto first = std::lower_bound(keys.begin(), keys.end(), file.smallest);
    const auto end = std::upper_bound(keys.begin(), keys.end(), file.largest);
    lookups.push_back(static_cast<uint64_t>(end - first));
  }
  return lookups;
}

FileRate ExpectedRate(const Variant& variant, const TreeShape& shape,
                      const std::vector<uint64_t>& lookups_per_file) {
  FileRate sum;
  double lookups = 0;
  for (size_t i = 0; i < shape.size(); i++) {
    if (lookups_per_file[i] == 0) continue;
    const auto weight = static_cast<double>(lookups_per_file[i]);
    const FileRate rate = variant.expected_rate(shape[i].keys, shape[i].filter_bytes);
    lookups += weight;
    sum.mean += weight * rate.mean;
    sum.variance += weight * weight * rate.variance;
  }
  if (lookups == 0) return {};
  return {sum.mean / lookups, sum.variance / (lookups * lookups)};
}

}  // namespace rocksieve::tools
