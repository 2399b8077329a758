#include "tools/demo/variants.h"

#include <utility>

#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

#include "plugin/tables/builtin_model.h"

#include "tools/demo/our_model.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

// The setting that most installations have.
constexpr double kBuiltinBitsPerKey = 10;
constexpr uint64_t kLineBytes = 64;

FileRate BuiltinBloomRate(uint64_t keys, uint64_t filter_bytes) {
  if (keys == 0) return {};
  const auto lines = static_cast<double>(filter_bytes / kLineBytes);
  if (lines == 0) return {1, 0};
  const auto line_rate = [](int keys_in_line) {
    return BuiltinBloomLineRate(kBuiltinBitsPerKey, keys_in_line);
  };
  return {BuiltinBloomRateOfLines(kBuiltinBitsPerKey, lines, static_cast<double>(keys)),
          VarianceOfLines(lines, static_cast<double>(keys) / lines, line_rate)};
}

// It makes Bloom filters after all, which the size shows, in flushed files, and in small ones where
// that takes less. Others have no variance: their fingerprints match at the same rate wherever they
// lie.
FileRate BuiltinRibbonRate(uint64_t keys, uint64_t filter_bytes) {
  if (static_cast<double>(filter_bytes) == BuiltinBloom(keys, kBuiltinBitsPerKey).bytes) {
    return BuiltinBloomRate(keys, filter_bytes);
  }
  return {BuiltinRibbon(keys, kBuiltinBitsPerKey).rate, 0};
}

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

}  // namespace rocksieve::tools
