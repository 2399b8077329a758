// SPDX-License-Identifier: Apache-2.0
#include "tools/whatif/whatif.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <rocksieve/filter.h>

#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "plugin/probe/probe_tree.h"
#include "support/parallel.h"

namespace rocksieve::tools {

namespace {

using rocksdb::Slice;
using rocksdb::Status;

uint64_t NumberOr(const std::string& text, uint64_t otherwise) {
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

FilterOptions FilterOptionsOf(const OptionsFile& options, const ColumnFamily& family) {
  FilterOptions result;
  result.partitioned = options.TableValue(family.name, "partition_filters") == "true";
  result.partition_bytes =
      NumberOr(options.TableValue(family.name, "metadata_block_size"), result.partition_bytes);
  result.partition_deviation_percent =
      static_cast<int>(NumberOr(options.TableValue(family.name, "block_size_deviation"), 10));
  // Of a RocksDB before 9.6 the file does not have it.
  const std::string decoupled = options.TableValue(family.name, "decouple_partitioned_filters");
  result.decoupled = decoupled == "true";
  result.cut_twice = decoupled == "false";
  result.legacy_bloom = NumberOr(options.TableValue(family.name, "format_version"), 5) < 5;
  result.skip_bottommost = family.optimize_filters_for_hits;
  result.fifo =
      options.ColumnFamilyValue(family.name, "compaction_style") == "kCompactionStyleFIFO";
  return result;
}

// Of a filter's smallest and largest entry: keys, or the prefix of the smallest key, which sorts
// before it.
void PlanRange(const ColumnFamily& family, PlannedFile* file) {
  const auto stored = [&](std::string_view key, bool as_prefix) {
    const rocksdb::Slice whole(key.data(), key.size());
    const bool has_prefix =
        as_prefix && family.prefix_extractor != nullptr && family.prefix_extractor->InDomain(whole);
    const size_t bytes = has_prefix ? family.prefix_extractor->Transform(whole).size() : key.size();
    return key.substr(0, std::min(bytes, kMaxRangeKeyBytes));
  };
  const std::string_view smallest = stored(file->smallest, true);
  const std::string_view largest = stored(file->largest, !family.whole_key_filtering);
  file->full_range_bytes = static_cast<double>(smallest.size() + largest.size());
  // What both share stands there once, and a few bytes of the rest of each.
  const size_t common = CommonBytes(smallest, largest);
  const auto rest = [common](std::string_view key) {
    return std::min(key.size() - common, kCompactRangeBytes);
  };
  file->compact_range_bytes = static_cast<double>(common + rest(smallest) + rest(largest));
}

PlannedFile PlanFile(const ColumnFamily& family, const TreeFile& file) {
  const TableProperties& properties = file.properties;
  PlannedFile planned;
  static_cast<TreeFile&>(planned) = file;
  const auto entries = static_cast<double>(std::max<uint64_t>(1, properties.entries));
  constexpr double kSequenceBytes = 8;  // in raw_key_bytes, with each key
  planned.key_bytes =
      std::max(0.0, static_cast<double>(properties.raw_key_bytes) / entries - kSequenceBytes);
  PlanRange(family, &planned);
  if (properties.data_blocks > 0) {
    planned.index_entry_bytes =
        static_cast<double>(properties.index_bytes) / static_cast<double>(properties.data_blocks);
  }
  planned.flushed = file.level == 0 && properties.oldest_key_time != 0;
  return planned;
}

// Whether a filter of the file, if written now, would hold the same entries.
bool WouldHoldTheSame(const ColumnFamily& family, const TableProperties& file) {
  if (file.whole_keys_filtered != family.whole_key_filtering) return false;
  if (family.prefix_extractor_name.empty())
    return !file.prefixes_filtered || file.prefix_extractor_name.empty();
  return file.prefixes_filtered && file.HasExtractor(family.prefix_extractor_name);
}

uint64_t EntriesOfFilter(const TreeFile& file) {
  return file.properties.filter_entries != 0 ? file.properties.filter_entries : file.filter.entries;
}

// Distinct prefixes per key among the first keys of a file; 0 if it cannot be read.
double PrefixesPerKey(const ColumnFamily& family, const TreeFile& file) {
  constexpr int kMostKeys = 2000;
  const TableKeys keys(family, file);
  if (!keys.ok()) return 0;
  std::string last;
  bool any = false;
  double prefixes = 0, count = 0;
  for (keys->SeekToFirst(); keys->Valid() && count < kMostKeys; keys->Next()) {
    count++;
    if (!family.prefix_extractor->InDomain(keys->key())) continue;
    const std::string prefix = family.prefix_extractor->Transform(keys->key()).ToString();
    if (any && prefix == last) continue;
    prefixes++;
    last = prefix;
    any = true;
  }
  return count > 0 ? prefixes / count : 0;
}

uint64_t Estimate(const ColumnFamily& family, const TreeFile& file) {
  const uint64_t keys = file.properties.keys();
  if (family.prefix_extractor == nullptr || !family.comparator_known) {
    return family.whole_key_filtering ? keys : 0;
  }
  const double per_key = PrefixesPerKey(family, file) + (family.whole_key_filtering ? 1.0 : 0.0);
  return static_cast<uint64_t>(std::llround(per_key * static_cast<double>(keys)));
}

// How many keys and prefixes a filter of each file would hold: as many as the one that it has, if a
// new one would hold the same; else from its number of entries and, if prefixes are filtered, from
// some of its keys.
void CountFilterEntries(PlannedTree* planned) {
  const ColumnFamily& family = planned->tree->family;
  RunAll(planned->files.size(), [&](size_t i) {
    PlannedFile& file = planned->files[i];
    const uint64_t known = EntriesOfFilter(file);
    file.filter_keys =
        known != 0 && WouldHoldTheSame(family, file.properties) ? known : Estimate(family, file);
    return rocksdb::Status::OK();
  }).PermitUncheckedError();
}

// Whether lookups ask filters for prefixes, and not for whole keys.
bool AsksPrefixes(const ColumnFamily& family) {
  return !family.whole_key_filtering && family.prefix_extractor != nullptr &&
         family.comparator_known;
}

// Of some of the keys, the share whose prefix the file has; a key without one counts as well, since
// no filter is asked for it. Looks for keys with the prefix in the file.
double PrefixPresent(const ColumnFamily& family, const TreeFile& file, const Keys& keys,
                     KeySpan part) {
  constexpr size_t kMostKeys = 200;
  if (part.size() == 0) return 0;
  const TableKeys found(family, file);
  if (!found.ok()) return 0;
  const size_t step = part.size() / kMostKeys + 1;
  size_t asked = 0, present = 0;
  for (size_t i = part.begin; i < part.end; i += step) {
    asked++;
    const Slice key(keys[i]);
    if (!family.prefix_extractor->InDomain(key)) {
      present++;
      continue;
    }
    const Slice prefix = family.prefix_extractor->Transform(key);
    found->Seek(prefix);
    present += found->Valid() && family.prefix_extractor->InDomain(found->key()) &&
                       family.prefix_extractor->Transform(found->key()) == prefix
                   ? 1
                   : 0;
  }
  return static_cast<double>(present) / static_cast<double>(asked);
}

}  // namespace

double PlannedFile::filter_rate() const {
  return filter_is_asked && !std::isnan(filter.predicted_rate) ? filter.predicted_rate : 1;
}

TableKeys::TableKeys(const ColumnFamily& family, const TreeFile& file)
    : reader_([&] {
        rocksdb::Options options;
        options.env = file.env();
        options.comparator = family.comparator.get();
        return options;
      }()) {
  if (!reader_.Open(file.path).ok()) return;
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  keys_.reset(reader_.NewIterator(read));
}

PlannedTree PlanTree(const Tree& tree) {
  const OptionsFile& options = tree.database->options();
  PlannedTree planned;
  planned.tree = &tree;
  planned.options = FilterOptionsOf(options, tree.family);
  planned.cache_layout = CacheLayoutOf(options, tree.family.name);
  planned.filters_cached = CachesFilters(options, tree.family.name);
  for (const TreeFile* file : tree.files()) {
    planned.files.push_back(PlanFile(tree.family, *file));
    planned.has_filters = planned.has_filters || file->filter.exists();
  }
  PolicySpec policy;
  planned.answers_ranges =
      PolicySpec::Parse(tree.family.filter_policy, &policy).ok() && policy.answers_ranges();
  CountFilterEntries(&planned);
  return planned;
}

Status PlaceLookups(Keys* missing_keys, Progress* progress, PlannedTree* planned) {
  const Tree& tree = *planned->tree;
  SortKeys(tree.family, missing_keys);
  const auto all = static_cast<double>(std::max<size_t>(1, missing_keys->size()));
  const bool asks_prefixes = AsksPrefixes(tree.family);
  progress->Begin("placing lookups in column family " + tree.family.name, planned->files.size());
  return RunAll(planned->files.size(), [&](size_t i) {
    PlannedFile& file = planned->files[i];
    if (!file.error.empty()) return Advanced(progress);  // nothing can be said of it
    const KeySpan part = KeysThatMeet(tree, file, *missing_keys);
    file.meets = static_cast<double>(part.size()) / all;
    if (asks_prefixes) {
      file.prefix_present = PrefixPresent(tree.family, file, *missing_keys, part);
    }
    return Advanced(progress);
  });
}

}  // namespace rocksieve::tools
