// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "plugin/rocksdb_abi.h"

namespace rocksieve::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeys = 200000;  // a filter of 250 KB at 10 bits per key
constexpr double kLeastSeconds = 0.05;
constexpr int kLeastRounds = 2;

// Random bytes, one key after another.
class RandomKeys {
 public:
  RandomKeys(uint64_t seed, size_t key_bytes)
      : key_bytes_(key_bytes), bytes_(kKeys * key_bytes_, '\0') {
    std::mt19937_64 random(seed);
    for (char& byte : bytes_) byte = static_cast<char>(random());
  }
  rocksdb::Slice operator[](size_t i) const { return {&bytes_[i * key_bytes_], key_bytes_}; }

 private:
  const size_t key_bytes_;
  std::string bytes_;
};

// The least time of a round, in nanoseconds per key: others had interruptions.
template <typename Round>
double LeastNsPerKey(Round round) {
  double least = std::numeric_limits<double>::infinity(), total = 0;
  for (int rounds = 0; rounds < kLeastRounds || total < kLeastSeconds; rounds++) {
    const Clock::time_point start = Clock::now();
    round();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    total += seconds;
    least = std::min(least, seconds * 1e9 / static_cast<double>(kKeys));
  }
  return least;
}

FilterCost Measure(const rocksdb::FilterPolicy& policy, size_t key_bytes) {
  const RandomKeys present(1, key_bytes), missing(2, key_bytes);
  const rocksdb::BlockBasedTableOptions table_options;
  rocksdb::FilterBuildingContext context(table_options);
  context.level_at_creation = 6;
  context.reason = rocksdb::TableFileCreationReason::kCompaction;
  std::unique_ptr<const char[]> owner;
  rocksdb::Slice block;
  FilterCost cost;
  cost.build_ns = LeastNsPerKey([&] {
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy.GetBuilderWithContext(context));
    for (size_t i = 0; i < kKeys; i++) builder->AddKey(present[i]);
    block = builder->Finish(&owner);
  });
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy.GetFilterBitsReader(block));
  volatile size_t passed = 0;
  cost.probe_ns = LeastNsPerKey([&] {
    size_t count = 0;
    for (size_t i = 0; i < kKeys; i++) count += reader->MayMatch(missing[i]) ? 1 : 0;
    passed = passed + count;
  });
  return cost;
}

// By spec and bytes of a key: a database of many column families would wait for each.
using Costs = std::map<std::pair<std::string, size_t>, FilterCost>;

Costs& MeasuredCosts() {
  static Costs costs;
  return costs;
}

// Where a policy makes filters of several families, each as it is with 10 bits per key.
std::string TypicalSpec(Family family) {
  if (family == Family::kRocksDbBloom) return "bloomfilter:10:false";
  if (family == Family::kRocksDbRibbon) return "ribbonfilter:14:-1";  // takes 10 bits
  FilterSpec typical;
  typical.family = family;
  return typical.ToString();
}

}  // namespace

Calibration::Calibration(double key_bytes)
    : key_bytes_(std::clamp<size_t>(std::llround(key_bytes), 8, 256)) {}

FilterCost Calibration::CostOf(const PolicySpec& policy, Family family) {
  const std::string text = policy.ours() != nullptr ? policy.text() : TypicalSpec(family);
  const auto [found, is_new] = MeasuredCosts().try_emplace({text, key_bytes_});
  if (!is_new) return found->second;
  PolicySpec spec;
  std::shared_ptr<const rocksdb::FilterPolicy> made;
  if (PolicySpec::Parse(text, &spec).ok() && spec.NewPolicy(&made).ok()) {
    found->second = Measure(*made, key_bytes_);
  }
  return found->second;
}

double Calibration::BuildSeconds(const PolicySpec& policy, const Prediction& prediction) {
  double ns = 0;
  for (const auto& [family, keys] : prediction.keys) ns += keys * CostOf(policy, family).build_ns;
  return ns * 1e-9;
}

double Calibration::ProbeNs(const PolicySpec& policy, const Prediction& prediction) {
  double ns = 0;
  for (const auto& [family, probes] : prediction.probes) {
    ns += probes * CostOf(policy, family).probe_ns;
  }
  return ns;
}

}  // namespace rocksieve::tools
