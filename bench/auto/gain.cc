// SPDX-License-Identifier: Apache-2.0
#include "bench/auto/gain.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksieve/filter_policy.h>

#include "lib/budget/auto_spec.h"
#include "lib/filter/builder.h"
#include "lib/filter/family.h"
#include "plugin/tables/builtin_model.h"

namespace rocksieve::bench {
namespace {

constexpr uint64_t kStride = 7919;  // a prime: visits every number in an order without pattern

uint64_t Ask(rocksdb::DB* db, std::string (*key_of)(uint64_t), uint64_t numbers, uint64_t count,
             bool fill_cache) {
  rocksdb::ReadOptions read;
  read.fill_cache = fill_cache;
  std::string value;
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (db->Get(read, key_of(i * kStride % numbers), &value).ok()) found++;
  }
  return found;
}

Lookups LookUp(rocksdb::DB* db, std::string (*key_of)(uint64_t), bool present, uint64_t numbers,
               uint64_t count) {
  Lookups result;
  result.lookups = count;
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  perf.Reset();
  // Blocks are not kept, so that each one needed counts as a read.
  const uint64_t found = Ask(db, key_of, numbers, count, /*fill_cache=*/false);
  const auto lookups = static_cast<double>(count);
  const uint64_t reads =
      perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  result.useless_reads = (static_cast<double>(reads) - (present ? lookups : 0)) / lookups;
  result.filter_probes =
      static_cast<double>(perf.bloom_sst_hit_count + perf.bloom_sst_miss_count) / lookups;
  result.wrong = present ? count - found : found;
  return result;
}

// Ask for `count` keys, spread over all numbers below `numbers`. Keep nothing in the block cache.
Lookups LookUpMissing(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, MissingKey, false, numbers, count);
}

// They lie in a sixteenth of the key space, unlike the live keys.
Lookups LookUpMissingNearby(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, NarrowMissingKey, false, numbers, count);
}

Lookups LookUpPresent(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, PresentKey, true, numbers, count);
}

// Nanoseconds per lookup of a missing key with everything in memory, the median of some rounds.
// Leaves blocks in the block cache.
double TimeMissing(rocksdb::DB* db, uint64_t numbers) {
  constexpr int kRounds = 5;
  constexpr uint64_t kTimed = 40000;
  rocksdb::SetPerfLevel(rocksdb::kDisable);
  Ask(db, MissingKey, numbers, kTimed, true);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; round++) {
    const auto start = std::chrono::steady_clock::now();
    Ask(db, MissingKey, numbers, kTimed, true);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    rounds.push_back(time.count() / static_cast<double>(kTimed));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

struct Steps {
  const Shape& shape;
  const GainOptions& options;
  const std::string& directory;
  const std::function<void(const std::string&, uint64_t)>& begin;
  const std::function<void(uint64_t)>& advance;
};

Measured Measure(const Steps& steps, const std::string& name, const PolicyPtr& policy,
                 bool listener) {
  Measured measured;
  measured.policy = name;
  const std::string path = steps.directory + "/db";
  std::filesystem::remove_all(path);
  steps.begin(steps.shape.description + ", " + name + ": writing", steps.shape.keys);
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy;
  table.block_cache = rocksdb::NewLRUCache(1 << 30);
  Tree tree = BuildTree(steps.shape, OptionsFor(steps.shape, table, listener), path, steps.advance);
  steps.begin(steps.shape.description + ", " + name + ": asking", 0);
  measured.memory = MemoryOf(tree.db.get());
  measured.files_per_level = tree.files_per_level;
  measured.build_seconds = tree.build_seconds;
  measured.missing = LookUpMissing(tree.db.get(), tree.keys, steps.options.lookups);
  measured.nearby = LookUpMissingNearby(tree.db.get(), tree.keys, steps.options.lookups / 4);
  measured.present = LookUpPresent(tree.db.get(), tree.keys, steps.options.lookups / 4);
  measured.in_memory_ns = TimeMissing(tree.db.get(), tree.keys);
  tree.db.reset();
  std::filesystem::remove_all(path);
  if (measured.missing.wrong + measured.present.wrong != 0) {
    throw std::runtime_error(name + " answers wrongly");
  }
  return measured;
}

// Of filters of a million keys (docs/performance.md).
constexpr double kRocksDbBloomProbeNs = 6, kRocksDbRibbonProbeNs = 27;

// The policy's argument with which its filters of so many keys take so many bits per key.
double SettingFor(double bits, uint64_t keys, BuiltinFilter (*filter_of)(uint64_t, double)) {
  double too_few = 1, enough = 60;
  while (enough - too_few > 0.001) {
    const double middle = (too_few + enough) / 2;
    const double has = 8 * filter_of(keys, middle).bytes / static_cast<double>(keys);
    (has < bits ? too_few : enough) = middle;
  }
  return enough;
}

// The spec of a family with which filters of so many keys take so many bits per key.
std::string OwnSpecFor(const FamilyEntry& family, double bits, uint64_t keys) {
  constexpr double kRangeKeysBytes = 32;  // of the tree's keys
  FilterSpec spec;
  spec.family = family.family;
  double too_few = family.min_bits_per_key, enough = family.max_bits_per_key;
  while (enough - too_few > 1e-4) {
    spec.amount = (too_few + enough) / 2;
    const double bytes = static_cast<double>(EstimateBlockBytes(spec, keys)) + kRangeKeysBytes;
    (8 * bytes / static_cast<double>(keys) < bits ? too_few : enough) = spec.amount;
  }
  spec.amount = too_few;
  return spec.ToString();
}

}  // namespace

const Measured* Gain::best_own() const {
  const auto best =
      std::min_element(own.begin(), own.end(), [](const Measured& a, const Measured& b) {
        return a.missing.useless_reads < b.missing.useless_reads;
      });
  return best == own.end() ? nullptr : &*best;
}

Gain MeasureGain(const Shape& shape, double budget, const GainOptions& options,
                 const std::string& directory,
                 const std::function<void(const std::string&, uint64_t)>& begin,
                 const std::function<void(uint64_t)>& advance) {
  const Steps steps = {shape, options, directory, begin, advance};
  AutoSpec spec;
  PolicyPtr policy;
  spec.bits_per_entry = budget;
  const std::string text = spec.ToString() + options.extra;
  const rocksdb::Status status = NewFilterPolicy(text, &policy);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  AutoSpec::Parse(text, &spec);

  Gain gain;
  gain.shape = shape;
  gain.budget = budget;
  gain.automatic = Measure(steps, text, policy, options.listener);
  const Memory& memory = gain.automatic.memory;
  const double bits = memory.bits();
  const uint64_t keys_per_file = memory.entries / std::max<uint64_t>(memory.files, 1);
  if (options.own_families) {
    for (const FamilyEntry* family : HashedFamilies()) {
      const std::string own = OwnSpecFor(*family, budget, keys_per_file);
      PolicyPtr alone;
      const rocksdb::Status made = NewFilterPolicy(own, &alone);
      if (!made.ok()) throw std::runtime_error(made.ToString());
      gain.own.push_back(Measure(steps, own, alone, false));
    }
    return gain;
  }
  gain.bloom = Measure(
      steps, "uniform Bloom",
      PolicyPtr(rocksdb::NewBloomFilterPolicy(SettingFor(bits, keys_per_file, BuiltinBloom))),
      false);
  gain.ribbon = Measure(
      steps, "uniform Ribbon",
      PolicyPtr(rocksdb::NewRibbonFilterPolicy(SettingFor(bits, keys_per_file, BuiltinRibbon), -1)),
      false);

  const CostModel& costs = spec.cost_model;
  const auto modelled = [&](Measured* measured, double probe_ns) {
    measured->modelled_ns = measured->missing.useless_reads * costs.read_ns +
                            measured->missing.filter_probes * probe_ns;
  };
  // Its families are not told apart by the counters: as if all were the dearest.
  double dearest = 0;
  for (const Family family : spec.families) {
    dearest = std::max(
        dearest, family == Family::kCuckoo && spec.families.size() > 1 ? 0 : costs.ProbeNs(family));
  }
  modelled(&gain.automatic, dearest);
  modelled(&gain.bloom, kRocksDbBloomProbeNs);
  modelled(&gain.ribbon, kRocksDbRibbonProbeNs);
  return gain;
}

}  // namespace rocksieve::bench
