#include "tools/demo/result.h"

namespace rocksieve::tools {

double VariantResult::FilterBytesPerKey() const {
  return keys == 0 ? 0 : static_cast<double>(filter_bytes) / static_cast<double>(keys);
}

double VariantResult::ReadsPer1000Missing() const {
  return 1000 * static_cast<double>(missing.data_block_reads) / static_cast<double>(missing.keys);
}

std::vector<std::string> DemoResult::FailedChecks() const {
  std::vector<std::string> failed;
  for (const VariantResult& variant : variants) {
    const std::string with = "With filter " + variant.name + ", ";
    if (!variant.tree_difference.empty()) {
      failed.push_back(with + "the tree is another one than without: " + variant.tree_difference +
                       ".");
    }
    if (variant.keys != present_keys) {
      failed.push_back(with + "the tree holds " + std::to_string(variant.keys) + " entries, not " +
                       std::to_string(present_keys) + ".");
    }
    if (variant.present.lost > 0 || variant.present.wrong_values > 0) {
      failed.push_back(with + std::to_string(variant.present.lost) + " keys are lost and " +
                       std::to_string(variant.present.wrong_values) +
                       " have a wrong value; the first of them is 0x" +
                       variant.present.first_bad_key + ".");
    }
    if (variant.missing.found > 0) {
      failed.push_back(with + std::to_string(variant.missing.found) +
                       " keys were found that were never stored.");
    }
  }
  return failed;
}

}  // namespace rocksieve::tools
