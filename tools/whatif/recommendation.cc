// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/whatif.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "plugin/database/tree.h"
#include "plugin/rocksdb_abi.h"
#include "support/text.h"

namespace rocksieve::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeys = 200000;  // a filter of 250 KB at 10 bits per key
constexpr double kLeastSeconds = 0.05;
constexpr int kLeastRounds = 2;

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

struct FilterCost {
  double build_ns = 0;  // per key, hashing included
  double probe_ns = 0;  // per query of a filter that is in memory
};

FilterCost Measure(const rocksdb::FilterPolicy& policy, size_t key_bytes) {
  std::mt19937_64 random(1);
  std::string bytes(2 * kKeys * key_bytes, '\0');  // of present keys, then of missing ones
  for (char& byte : bytes) byte = static_cast<char>(random());
  const auto key = [&](size_t i) { return rocksdb::Slice(&bytes[i * key_bytes], key_bytes); };
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
    for (size_t i = 0; i < kKeys; i++) builder->AddKey(key(i));
    block = builder->Finish(&owner);
  });
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy.GetFilterBitsReader(block));
  volatile size_t passed = 0;
  cost.probe_ns = LeastNsPerKey([&] {
    size_t count = 0;
    for (size_t i = 0; i < kKeys; i++) count += reader->MayMatch(key(kKeys + i)) ? 1 : 0;
    passed = passed + count;
  });
  return cost;
}

// Where a policy makes filters of several families, each as it is with 10 bits per key.
std::string TypicalSpec(Family family) {
  if (family == Family::kRocksDbBloom) return "bloomfilter:10:false";
  if (family == Family::kRocksDbRibbon) return "ribbonfilter:14:-1";  // takes 10 bits
  FilterSpec typical;
  typical.family = family;
  return typical.ToString();
}

// Measured when first asked for, and remembered for all trees whose keys are as long: a database of
// many column families would wait for each.
FilterCost CostOf(const PolicySpec& policy, Family family, double mean_key_bytes) {
  static std::map<std::pair<std::string, size_t>, FilterCost> costs;
  const size_t key_bytes = std::clamp<size_t>(std::llround(mean_key_bytes), 8, 256);
  const std::string text = policy.ours() != nullptr ? policy.text() : TypicalSpec(family);
  const auto [found, is_new] = costs.try_emplace({text, key_bytes});
  if (!is_new) return found->second;
  std::shared_ptr<const rocksdb::FilterPolicy> made;
  if (NewPolicy(text, &made).ok()) found->second = Measure(*made, key_bytes);
  return found->second;
}

std::string Bytes(double bytes) { return Fixed(bytes, bytes < 10 ? 1 : 0) + " bytes"; }

// Its files as the cache's model has them.
CachedTree CachedTreeOf(const PlannedTree& tree) {
  CachedTree cached;
  cached.layout = tree.cache_layout;
  cached.layout.indexes_cached = true;
  for (const PlannedFile& file : tree.files) {
    UnfilteredFile& unfiltered =
        cached.files.emplace_back(UnfilteredFileOf(file, file.filter_keys));
    unfiltered.file.budgeted =
        file.filter_keys != 0 && !(tree.options.skip_bottommost && file.bottommost());
    unfiltered.data_block_bytes *= tree.blocks_per_search;
    // Else without what is left to chance in a sample, as doctor has it.
    const bool is_known = tree.lookups_are_given || !tree.tree->family.comparator_known;
    if (is_known) unfiltered.lookup_weight = file.meets;
    unfiltered.passed_anyway = file.prefix_present;
  }
  return cached;
}

constexpr double kStep = 0.5, kLargestBits = 64;

double Between(double low, double high, double share) { return low + (high - low) * share; }

// What is less of a gain is not worth a change.
constexpr double kWorthwhile = 0.05;

struct Candidate {
  const Curve* curve = nullptr;
  PolicySpec spec;
  Prediction prediction;
  double us = 0;
};

std::string Microseconds(double us) { return Fixed(us, us >= 10 ? 0 : us >= 1 ? 1 : 3) + " us"; }

std::string Percent(double share) { return Fixed(100 * share, share < 0.1 ? 1 : 0) + " %"; }

// The policy of the curve's family that fits the memory, with its setting rounded down to a tenth,
// if there is one.
void AddCandidate(const PlannedTree& tree, const Curve& curve, double filter_bytes, double read_us,
                  double key_bytes, std::vector<Candidate>* candidates) {
  const double bits = std::floor(10 * curve.BitsFor(filter_bytes) + 0.01) / 10;
  Candidate candidate = {&curve, {}, {}, 0};
  if (bits < 1 || !curve.family.WithBits(bits, &candidate.spec).ok()) return;
  candidate.prediction = Predict(tree, candidate.spec);
  candidate.us = candidate.prediction.reads * read_us +
                 1e-3 * ProbeNs(candidate.spec, candidate.prediction, key_bytes);
  candidates->push_back(candidate);
}

const Candidate* Best(const std::vector<Candidate>& candidates, bool builtin_only) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (builtin_only && candidate.spec.rocksdb() == nullptr) continue;
    if (best == nullptr || candidate.us < best->us) best = &candidate;
  }
  return best;
}

}  // namespace

double BuildSeconds(const PolicySpec& policy, const Prediction& prediction, double key_bytes) {
  double ns = 0;
  for (const auto& [family, keys] : prediction.keys) {
    ns += keys * CostOf(policy, family, key_bytes).build_ns;
  }
  return ns * 1e-9;
}

double ProbeNs(const PolicySpec& policy, const Prediction& prediction, double key_bytes) {
  double ns = 0;
  for (const auto& [family, probes] : prediction.probes) {
    ns += probes * CostOf(policy, family, key_bytes).probe_ns;
  }
  return ns;
}

void CompareThroughCache(const PlannedTree& tree, const BlockCache& cache, const Prediction& now,
                         const std::vector<Prediction>& predictions, Json* document) {
  constexpr char kBytes[] = "bytes_read_through_cache_per_missing_lookup";
  const bool is_asked = cache.bytes > 0;
  const CachedTree cached = is_asked ? CachedTreeOf(tree) : CachedTree();
  std::string least_name;
  double least = 0;
  const auto add = [&](const Prediction& prediction, const std::string& name, Json* json) {
    (*json)[kBytes] = nullptr;
    if (!is_asked) return;
    std::vector<CachedFilter> filters(tree.files.size());
    for (size_t i = 0; i < filters.size(); i++) {
      const PredictedFilter& filter = prediction.filters[i];
      if (tree.files[i].filter_is_asked) filters[i] = {filter.bytes, filter.blocks, filter.rate};
    }
    const double bytes = ReadsThrough(cache, WithFilters(cached, filters)).bytes;
    (*json)[kBytes] = bytes;
    if (!least_name.empty() && bytes >= least) return;
    least_name = name;
    least = bytes;
  };
  add(now, "what is there", &(*document)["now"]);
  for (size_t i = 0; i < predictions.size(); i++) {
    Json& policy = (*document)["policies"][i];
    add(predictions[i], policy["spec"], &policy);
  }
  Json& result = (*document)["cache_advice"];
  if (!is_asked) return;
  const double bytes_now = (*document)["now"][kBytes];
  const CacheAdvice advice = AdviseFor(cache, {cached});
  const std::string spec = advice.specs[0].ToString();
  result = {{"spec", nullptr}, {kBytes, advice.reads.bytes}, {"reason", ""}};
  if (advice.bytes < static_cast<double>(AutoSpec::kMinBytes)) {
    result["reason"] = "No budget of bytes is as small as this block cache.";
  } else if (advice.reads.bytes >= (1 - kWorthwhile) * least) {
    result["reason"] = "No budget of bytes would read less than " + least_name + ", " +
                       Bytes(least) + " per lookup of a missing key: " + spec + advice.settings +
                       " would read " + Bytes(advice.reads.bytes) + ".";
  } else {
    result["spec"] = spec;
    result["reason"] =
        spec + advice.settings + ": a lookup of a missing key would read " +
        Bytes(advice.reads.bytes) + " instead of " + Bytes(bytes_now) +
        (least == bytes_now ? std::string() : ", and " + Bytes(least) + " with " + least_name) +
        ".";
  }
}

std::string ReadsPerThousand(const Json& reads) {
  const double per_thousand = 1000 * reads.get<double>();
  return Significant(per_thousand, per_thousand >= 100 ? 4 : 3);
}

double Curve::ReadsAt(double filter_bytes) const {
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (filter_bytes < low.filter_bytes || filter_bytes > high.filter_bytes) continue;
    const double share = (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes);
    if (low.reads <= 0 || high.reads <= 0) return Between(low.reads, high.reads, share);
    return std::exp(Between(std::log(low.reads), std::log(high.reads), share));
  }
  return -1;
}

double Curve::BitsFor(double filter_bytes) const {
  if (points.empty() || points.front().filter_bytes > filter_bytes) return -1;
  for (size_t i = 1; i < points.size(); i++) {
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.filter_bytes < filter_bytes) continue;
    return Between(low.bits, high.bits,
                   (filter_bytes - low.filter_bytes) / (high.filter_bytes - low.filter_bytes));
  }
  return points.back().bits;
}

double Curve::BytesFor(double reads) const {
  for (size_t i = 0; i < points.size(); i++) {
    if (points[i].reads > reads) continue;
    if (i == 0) return points[0].filter_bytes;
    const CurvePoint &low = points[i - 1], &high = points[i];
    if (high.reads <= 0 || reads <= 0) return high.filter_bytes;
    const double share = std::log(low.reads / reads) / std::log(low.reads / high.reads);
    return Between(low.filter_bytes, high.filter_bytes, share);
  }
  return -1;
}

Curve CurveOf(const PlannedTree& tree, const PolicySpec& family, double least, double most) {
  Curve curve;
  curve.name = family.FamilyName();
  curve.family = family;
  const double byte_per_entry_bit = static_cast<double>(tree.Entries()) / 8;
  for (double bits = 1; bits <= kLargestBits; bits += kStep) {
    PolicySpec policy;
    if (!family.WithBits(bits, &policy).ok()) continue;
    const Prediction prediction = Predict(tree, policy);
    const CurvePoint point = {bits, prediction.filter_bytes, prediction.reads};
    // Keeps the last point below the range, so that the curve begins before it. Rounding up makes
    // several settings of one size, of which the best is kept.
    if (!curve.points.empty()) {
      const CurvePoint& last = curve.points.back();
      const bool below = point.filter_bytes <= least * byte_per_entry_bit;
      const bool same = point.filter_bytes <= last.filter_bytes * 1.0001;
      if (same && point.reads >= last.reads) continue;
      if (below || same) curve.points.pop_back();
    }
    curve.points.push_back(point);
    if (point.filter_bytes >= most * byte_per_entry_bit) break;
  }
  return curve;
}

Json Recommend(const PlannedTree& tree, const Prediction& now, const std::vector<Curve>& curves,
               double filter_bytes, const std::string& memory_words, double read_us,
               double key_bytes) {
  Json result = {{"spec", nullptr},
                 {"filter_bytes", 0},
                 {"expected_useless_reads_per_missing_lookup", 0.0},
                 {"microseconds_per_missing_lookup", 0.0},
                 {"reason", "Nothing: lookups of missing keys meet no file."}};
  if (now.reads == 0 && !tree.has_filters) return result;
  std::vector<Candidate> candidates;
  for (const Curve& curve : curves) {
    AddCandidate(tree, curve, filter_bytes, read_us, key_bytes, &candidates);
  }
  const Candidate* best = Best(candidates, /*builtin_only=*/false);
  if (best == nullptr) {
    result["reason"] = "Nothing: no filter is as small as the memory that there is.";
    return result;
  }
  const double reads = best->prediction.reads;
  result["filter_bytes"] = std::llround(best->prediction.filter_bytes);
  result["expected_useless_reads_per_missing_lookup"] = reads;
  result["microseconds_per_missing_lookup"] = best->us;
  if (tree.has_filters && reads >= now.reads * (1 - kWorthwhile)) {
    result["reason"] = "Keep the filters that are there: " + best->spec.text() +
                       ", the best in the same memory, would leave " + ReadsPerThousand(reads) +
                       " useless reads per 1,000 missing keys of " + ReadsPerThousand(now.reads) +
                       ".";
    return result;
  }
  std::string reason =
      best->spec.text() + ": " + memory_words + ", 1,000 lookups of missing keys cost " +
      ReadsPerThousand(reads) + " useless block reads instead of " + ReadsPerThousand(now.reads) +
      ". At " + Fixed(read_us, read_us < 10 ? 1 : 0) + " us per read that is " +
      Microseconds(best->us) + " per lookup, probes of the filters included, instead of " +
      Microseconds(now.reads * read_us) + ".";
  const Candidate* builtin = Best(candidates, /*builtin_only=*/true);
  if (builtin != nullptr && builtin != best) {
    reason += " The best of RocksDB's own there, " + builtin->spec.text() + ", would cost " +
              ReadsPerThousand(builtin->prediction.reads) + " reads.";
  }
  const double bytes = best->curve->BytesFor(now.reads);
  PolicySpec smaller;
  if (tree.has_filters && bytes > 0 && bytes < now.filter_bytes &&
      best->curve->family.WithBits(std::ceil(10 * best->curve->BitsFor(bytes)) / 10, &smaller)
          .ok()) {
    reason += " To save memory instead: " + smaller.text() + " has no more reads than now, in " +
              Percent(bytes / now.filter_bytes) + " of the memory.";
  }
  if (tree.answers_ranges && !best->spec.answers_ranges()) {
    reason +=
        " It would filter ranges no more, as those of now do: --ranges shows what that costs.";
  }
  result["spec"] = best->spec.text();
  result["reason"] = reason;
  return result;
}

}  // namespace rocksieve::tools
