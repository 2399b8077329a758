// SPDX-License-Identifier: Apache-2.0
// The experiment "any_prefix": does any key begin with a string whose length nobody knew before?
// Filters of 10, 14 and 18 bits per key, asked for absent prefixes of every length.
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <memory>

#include "experiments/any_prefix/context_model.h"
#include "experiments/any_prefix/key_sets.h"
#include "experiments/any_prefix/prefix_filter.h"
#include "experiments/frame/experiment.h"
#include "support/text.h"

namespace rocksieve::experiments {
namespace {

using Kind = Column::Kind;

constexpr PrefixCandidate kCandidates[] = {
    {"rocksieve.range", true, BuildRangeFamily},
    {"Patricia trie, hashed labels", false, BuildPatriciaTrie},
    {"weak prefix search", false, BuildWeakPrefixSearch},
    {"every prefix, hashed", false, BuildEveryPrefix},
    {"the same, weighted", false, BuildWeightedPrefixes},
    {"order-preserving code", true, BuildOrderedCode},
    {"coded list, cut", true, BuildCodedList},
};
// Of neighbouring lengths one row's column; those after the 24th tell what is beyond.
struct Lengths {
  const char* name;
  size_t first, last;
};
constexpr Lengths kLengths[] = {
    {"1_8", 1, 8}, {"9_16", 9, 16}, {"17_24", 17, 24}, {"25_48", 25, 48}};
constexpr size_t kLongest = 48, kFewQueries = 50;

struct Queries {
  std::array<AbsentPrefixes, kLongest + 1> of_length;
  std::vector<KeyRange> rests;
};

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Rate by length; negative where there were too few queries.
using Rates = std::array<double, kLongest + 1>;

double PassedOf(const PrefixFilter& filter, const std::vector<std::string>& absent,
                uint64_t* asked) {
  uint64_t passed = 0;
  for (const std::string& prefix : absent) passed += filter.MayHavePrefix(prefix);
  *asked += absent.size();
  if (absent.size() < kFewQueries) return -1;
  return static_cast<double>(passed) / static_cast<double>(absent.size());
}

// Of the lengths that could be asked; null if none could.
nlohmann::json MeanOver(const Rates& rates, size_t first, size_t last) {
  double sum = 0, lengths = 0;
  for (size_t length = first; length <= last; length++) {
    if (rates[length] < 0) continue;
    sum += rates[length];
    lengths++;
  }
  if (lengths == 0) return nullptr;
  return sum / lengths;
}

void AddRates(const std::string& kind, const Rates& rates, nlohmann::json* row) {
  for (const Lengths& lengths : kLengths) {
    (*row)[kind + "_" + lengths.name] = MeanOver(rates, lengths.first, lengths.last);
  }
  (*row)[kind] = MeanOver(rates, 1, 24);
  for (size_t length = 1; length <= kLongest; length++) {
    (*row)[kind + "_by_length"].push_back(rates[length] < 0 ? nlohmann::json()
                                                            : nlohmann::json(rates[length]));
  }
}

// Distinct prefixes of all keys: each must be found; so must ranges from and to each eighth key.
uint64_t LostPrefixes(const PrefixFilter& filter, const SortedKeys& keys) {
  uint64_t lost = 0;
  size_t number = 0;
  std::string_view before;
  for (const std::string& key : keys) {
    for (size_t length = CommonBytes(before, key) + 1; length <= key.size(); length++) {
      lost += !filter.MayHavePrefix(std::string_view(key).substr(0, length));
    }
    if (number++ % 8 == 0) {
      lost += !filter.MayHaveRange(std::string(before) + '\0', key + '\0');
      lost += !filter.MayHaveRange(key, key + '\0');
    }
    before = key;
  }
  return lost;
}

nlohmann::json Measure(const KeySample& sample, const Queries& queries,
                       const PrefixCandidate& candidate, double bits, Run* run) {
  const double start = CpuSeconds();
  const std::unique_ptr<PrefixFilter> filter = candidate.build(sample.keys, bits);
  const double build_seconds = CpuSeconds() - start;
  const uint64_t lost = LostPrefixes(*filter, sample.keys);
  if (lost > 0) {
    run->failures.push_back(std::string("any_prefix: ") + candidate.name + " of " + sample.name +
                            " loses " + Thousands(lost) + " prefixes");
  }
  Rates changed{}, held_out{};
  uint64_t asked = 0;
  const double before = CpuSeconds();
  for (size_t length = 1; length <= kLongest; length++) {
    changed[length] = PassedOf(*filter, queries.of_length[length].changed, &asked);
    held_out[length] = PassedOf(*filter, queries.of_length[length].held_out, &asked);
  }
  const auto keys = static_cast<double>(sample.keys.size());
  nlohmann::json row = {
      {"group", sample.name + " (" + sample.about + "), " + KeysHeading(sample.keys.size())},
      {"part", Significant(bits, 2)},
      {"keys", sample.keys.size()},
      {"candidate", candidate.name},
      {"asked_bits_per_key", bits},
      {"bits_per_key", static_cast<double>(filter->size_bits()) / keys},
      {"query_ns",
       1e9 * (CpuSeconds() - before) / static_cast<double>(std::max<uint64_t>(1, asked))},
      {"build_ns", 1e9 * build_seconds / keys}};
  AddRates("changed", changed, &row);
  AddRates("held_out", held_out, &row);
  uint64_t passed = 0;
  for (const KeyRange& range : queries.rests)
    passed += filter->MayHaveRange(range.begin, range.end);
  if (candidate.any_range && queries.rests.size() >= kFewQueries) {
    row["rest_of_directory"] =
        static_cast<double>(passed) / static_cast<double>(queries.rests.size());
  }
  return row;
}

Table EmptyTable() {
  Table table;
  table.name = "any_prefix";
  table.title = "PREFIXES OF ANY LENGTH";
  table.explanation =
      "Does any key begin with it? False-positive rates of absent prefixes, means over their "
      "lengths in bytes, each length counting alike (\"1-24\": of all up to 24). Changed: a key's "
      "first bytes, the last one exchanged for a byte of any key. Held out: the first bytes of a "
      "key of the same kind that the filter does not have. After a key: the range from right after "
      "a key to the end of its directory, where nothing lies; of filters that know no order 1. "
      "Bits: all that the filter takes, per key. CPU time of a query that is answered by no, "
      "mostly. No prefix of any key may be lost; a run fails if one is.";
  table.columns = {{"candidate", "", "candidate", Kind::kText},
                   {"bits_per_key", "bits", "per key", Kind::kFixed, 1},
                   {"changed_1_8", "changed", "1-8", Kind::kFixed, 3},
                   {"changed_9_16", "", "9-16", Kind::kFixed, 3},
                   {"changed_17_24", "", "17-24", Kind::kFixed, 3},
                   {"changed", "", "1-24", Kind::kFixed, 3},
                   {"changed_25_48", "", "25-48", Kind::kFixed, 3, nullptr, 2},
                   {"held_out", "held out", "1-24", Kind::kFixed, 3},
                   {"held_out_25_48", "", "25-48", Kind::kFixed, 3, nullptr, 3},
                   {"rest_of_directory", "after", "a key", Kind::kFixed, 3},
                   {"query_ns", "query", "ns", Kind::kFixed, 0}};
  return table;
}

// The rate for which the least bits are estimated.
constexpr double kRate = 0.05;

// What a set of keys is, and an estimate of the least that any filter of a rate takes: if bytes are
// drawn from k equally likely ones, then of each distinct prefix a filter tells that its last byte
// is one of 1 + rate (k - 1).
nlohmann::json KeysRow(const KeySample& sample) {
  const ContextModel model(sample.keys, 1);
  double bytes = 0, prefixes = 0, bits = 0;
  std::string_view before;
  for (const std::string& key : sample.keys) {
    bytes += static_cast<double>(key.size());
    for (size_t at = CommonBytes(before, key); at < key.size(); at++) {
      prefixes++;
      bits += model.After(key, at).PartOf(SymbolAt(key, at)).bits();
    }
    before = key;
  }
  const auto keys = static_cast<double>(sample.keys.size());
  const double likely = std::exp2(bits / prefixes);
  const double least = prefixes * std::log2(likely / (1 + kRate * (likely - 1)));
  return {{"set", sample.name},
          {"about", sample.about},
          {"keys", sample.keys.size()},
          {"bytes_per_key", bytes / keys},
          {"prefixes_per_key", prefixes / keys},
          {"code_bits_per_key", bits / keys},
          {"model_bits_per_key", static_cast<double>(model.size_bits()) / keys},
          {"least_bits_per_key", least / keys}};
}

Table EmptyKeysTable() {
  Table table;
  table.name = "any_prefix_keys";
  table.title = "THE KEYS";
  table.explanation =
      "Distinct prefixes: those that no smaller key has. Code: the last bytes of all these by a "
      "static model of contexts of up to three bytes, without what the model takes. Least: an "
      "estimate of what any filter takes, without model, that passes 5 % of the absent prefixes of "
      "every length whose last byte is as likely as a key's.";
  table.columns = {{"set", "", "set", Kind::kText},
                   {"about", "", "keys are", Kind::kText, 2, nullptr, 1},
                   {"keys", "", "keys", Kind::kFixed, 0},
                   {"bytes_per_key", "bytes", "per key", Kind::kFixed, 1},
                   {"prefixes_per_key", "distinct", "prefixes", Kind::kFixed, 2},
                   {"code_bits_per_key", "code,", "bits", Kind::kFixed, 1},
                   {"model_bits_per_key", "model,", "bits", Kind::kFixed, 2},
                   {"least_bits_per_key", "least for", "5 %, bits", Kind::kFixed, 1}};
  return table;
}

}  // namespace

Outcome MeasureAnyPrefix(Run* run) {
  const bool quick = run->settings.quick;
  const size_t most_queries = quick ? 200 : 1000;
  Table table = EmptyTable(), keys_table = EmptyKeysTable();
  for (const KeySample& sample : AllKeySamples(run->settings.directory, quick ? 5000 : 1'000'000)) {
    keys_table.rows.push_back(KeysRow(sample));
    Queries queries;
    for (size_t length = 1; length <= kLongest; length++) {
      queries.of_length[length] = AbsentPrefixesOf(sample, length, most_queries);
    }
    queries.rests = EmptyRestsOfDirectories(sample, most_queries);
    for (const double bits : {10.0, 14.0, 18.0}) {
      for (const PrefixCandidate& candidate : kCandidates) {
        run->progress(sample.name + ", " + Significant(bits, 2) + " bits, " + candidate.name);
        table.rows.push_back(Measure(sample, queries, candidate, bits, run));
      }
    }
  }
  return {{keys_table, table}, {}};
}

}  // namespace rocksieve::experiments
