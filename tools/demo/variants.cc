#include "tools/demo/variants.h"

#include <algorithm>
#include <utility>

#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

Status AddOurs(const std::string& text, const std::string& directory,
               std::vector<Variant>* variants) {
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(text, &spec);
  if (!error.empty()) return Status::InvalidArgument(error);
  Variant variant{text, directory, nullptr, [spec](uint64_t keys, uint64_t filter_bytes) {
                    return OurRate(spec, keys, filter_bytes);
                  }};
  const Status status = NewFilterPolicy(text, &variant.policy);
  if (status.ok()) variants->push_back(std::move(variant));
  return status;
}

}  // namespace

Status MakeVariants(std::vector<Variant>* variants) {
  std::shared_ptr<const rocksdb::FilterPolicy> bloom(
      rocksdb::NewBloomFilterPolicy(kBuiltinBitsPerKey));
  std::shared_ptr<const rocksdb::FilterPolicy> ribbon(
      rocksdb::NewRibbonFilterPolicy(kBuiltinBitsPerKey));
  *variants = {{"none", "none", nullptr,
                [](uint64_t, uint64_t) {
                  return FileRate{1, 0};
                }},
               {"RocksDB Bloom 10", "rocksdb_bloom_10", std::move(bloom), BuiltinBloomRate},
               {"RocksDB Ribbon 10", "rocksdb_ribbon_10", std::move(ribbon), BuiltinRibbonRate}};
  Status status = AddOurs("rocksieve.bloom:10", "rocksieve_bloom_10", variants);
  if (status.ok()) status = AddOurs("rocksieve.cuckoo:12", "rocksieve_cuckoo_12", variants);
  if (status.ok()) status = AddOurs("rocksieve.ribbon:10", "rocksieve_ribbon_10", variants);
  return status;
}

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
