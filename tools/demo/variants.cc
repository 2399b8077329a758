// SPDX-License-Identifier: Apache-2.0
#include "tools/demo/variants.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include <rocksieve/filter.h>
#include <rocksieve/filter_policy.h>
#include <rocksieve/filter_spec.h>

#include "lib/budget/allocation.h"
#include "lib/budget/auto_spec.h"
#include "lib/filter/family.h"
#include "plugin/tables/builtin_model.h"

namespace rocksieve::tools {
namespace {

// The variance of a filter whose keys are thrown at random into lines, all probes of a key into the
// same one; line_rate is the rate of a line with so many keys. A line more crowded than others
// passes more, but the others are emptier for it, so that only the bend of line_rate counts.
double VarianceOfLines(double lines, double keys_per_line,
                       const std::function<double(int keys_in_line)>& line_rate) {
  if (lines <= 0 || keys_per_line <= 0) return 0;
  // The number of keys in a line follows a Poisson law, whose variance is its mean.
  const double spread = 8 * std::sqrt(keys_per_line) + 8;
  const int from = static_cast<int>(std::max(0.0, keys_per_line - spread));
  const int to = static_cast<int>(keys_per_line + spread);
  double mean = 0, square = 0, product = 0;
  for (int keys = from; keys <= to; keys++) {
    const double probability =
        std::exp(keys * std::log(keys_per_line) - keys_per_line - std::lgamma(keys + 1.0));
    const double rate = line_rate(keys);
    mean += probability * rate;
    square += probability * rate * rate;
    product += probability * rate * (keys - keys_per_line);
  }
  // All lines together have a fixed number of keys, so what depends on it linearly cancels out.
  const double of_line = square - mean * mean - product * product / keys_per_line;
  return std::max(of_line, 0.0) / lines;
}

// Probes per key, which the spec leaves to the filter: as a filter of the same size has them.
uint8_t Probes(const FilterSpec& spec, uint64_t keys) {
  FilterBuilder builder(spec);
  for (uint64_t i = 0; i < keys; i++) builder.AddKey(std::to_string(i));
  const FilterBlock block = builder.Finish();
  return OpenFilter(block.view()).info.parameter;
}

using rocksdb::Status;

// The setting that most installations have.
constexpr double kBuiltinBitsPerKey = 10;

// Of RocksDB's filters with that setting, for a file with so many keys and filter bytes.
FileRate BuiltinBloomRate(uint64_t keys, uint64_t filter_bytes) {
  if (keys == 0) return {};
  const auto lines = static_cast<double>(filter_bytes / kBuiltinBloomLineBytes);
  if (lines == 0) return {1, 0};
  const auto line_rate = [](int keys_in_line) {
    return BuiltinBloomLineRate(kBuiltinBitsPerKey, keys_in_line);
  };
  return {BuiltinBloomRateOfLines(kBuiltinBitsPerKey, lines, static_cast<double>(keys)),
          VarianceOfLines(lines, static_cast<double>(keys) / lines, line_rate)};
}

// Makes Bloom filters after all, which the size shows, in flushed files, and in small ones where
// that takes less. Others have no variance: their fingerprints match at the same rate wherever they
// lie.
FileRate BuiltinRibbonRate(uint64_t keys, uint64_t filter_bytes) {
  if (static_cast<double>(filter_bytes) == BuiltinBloom(keys, kBuiltinBitsPerKey).bytes) {
    return BuiltinBloomRate(keys, filter_bytes);
  }
  return {BuiltinRibbon(keys, kBuiltinBitsPerKey).rate, 0};
}

// Of the filter that the spec gives a file with so many keys. It has a variance if the family's
// filters consist of lines.
FileRate OurRate(const FilterSpec& spec, uint64_t keys, uint64_t filter_bytes) {
  FileRate rate = {ExpectedFalsePositiveRate(spec, keys), 0};
  const size_t line_bytes = FindFamily(spec.family)->line_bytes;
  if (line_bytes == 0 || keys == 0) return rate;

  // A filter of one line has no other lines that its keys could be in.
  const std::string payload(line_bytes, 0);
  FilterBlockInfo line;
  line.family = spec.family;
  line.parameter = Probes(spec, keys);
  line.payload = payload;
  const uint64_t lines = std::max<uint64_t>(filter_bytes / line_bytes, 1);
  rate.variance = VarianceOfLines(static_cast<double>(lines),
                                  static_cast<double>(keys) / static_cast<double>(lines),
                                  [&](int keys_in_line) {
                                    line.key_count = static_cast<uint64_t>(keys_in_line);
                                    return ExpectedFalsePositiveRate(line);
                                  });
  return rate;
}

// Of the filter that rocksieve.auto gives a file with so many keys so many bytes for.
FileRate AutoRate(const Allocator& allocator, uint64_t keys, uint64_t filter_bytes) {
  if (keys == 0) return {};
  const double bits_per_key = 8 * static_cast<double>(filter_bytes) / static_cast<double>(keys);
  return {allocator.HullFor(keys).Choose(bits_per_key).rate, 0};
}

Status AddOurs(const std::string& text, const std::string& directory,
               std::vector<Variant>* variants) {
  OwnSpec spec;
  const std::string error = ParseOwnSpec(text, &spec);
  if (!error.empty()) return Status::InvalidArgument(error);
  Variant variant{text, directory, nullptr, nullptr};
  if (const auto* automatic = std::get_if<AutoSpec>(&spec)) {
    const auto allocator = std::make_shared<const Allocator>(automatic->ForAllocator());
    variant.expected_rate = [allocator](uint64_t keys, uint64_t filter_bytes) {
      return AutoRate(*allocator, keys, filter_bytes);
    };
  } else {
    variant.expected_rate = [one = std::get<FilterSpec>(spec)](uint64_t keys,
                                                               uint64_t filter_bytes) {
      return OurRate(one, keys, filter_bytes);
    };
  }
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
  if (status.ok()) status = AddOurs("rocksieve.auto:10", "rocksieve_auto_10", variants);
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
