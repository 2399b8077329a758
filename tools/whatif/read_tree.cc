#include "tools/whatif/read_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include <rocksieve/filter.h>

#include "tools/whatif/filter_entries.h"

namespace rocksieve::tools {
namespace {

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
  result.legacy_bloom = NumberOr(options.TableValue(family.name, "format_version"), 5) < 5;
  result.skip_bottommost = family.optimize_filters_for_hits;
  result.fifo =
      options.ColumnFamilyValue(family.name, "compaction_style") == "kCompactionStyleFIFO";
  return result;
}

// Of a filter's smallest and largest entry: keys, or the prefix of the smallest key, which sorts
// before it.
double RangeBytes(const ColumnFamily& family, const TreeFile& file) {
  const auto stored = [&](const std::string& key, bool as_prefix) {
    const rocksdb::Slice whole(key);
    const bool has_prefix =
        as_prefix && family.prefix_extractor != nullptr && family.prefix_extractor->InDomain(whole);
    const size_t bytes = has_prefix ? family.prefix_extractor->Transform(whole).size() : key.size();
    return static_cast<double>(std::min(bytes, kMaxRangeKeyBytes));
  };
  return stored(file.smallest, true) + stored(file.largest, !family.whole_key_filtering);
}

PlannedFile PlanFile(const ColumnFamily& family, const TreeFile& file) {
  const TableProperties& properties = file.properties;
  PlannedFile planned;
  planned.level = file.level;
  planned.smallest = file.smallest;
  planned.largest = file.largest;
  planned.entries = properties.entries;
  planned.data_blocks = properties.data_blocks;
  const auto entries = static_cast<double>(std::max<uint64_t>(1, properties.entries));
  constexpr double kSequenceBytes = 8;  // in raw_key_bytes, with each key
  planned.key_bytes =
      std::max(0.0, static_cast<double>(properties.raw_key_bytes) / entries - kSequenceBytes);
  planned.range_bytes = RangeBytes(family, file);
  if (properties.data_blocks > 0) {
    planned.index_entry_bytes =
        static_cast<double>(properties.index_bytes) / static_cast<double>(properties.data_blocks);
  }
  planned.flushed = file.level == 0 && properties.oldest_key_time != 0;
  planned.bottommost = !file.filter_is_asked;
  planned.filter_bytes = file.filter.bytes;
  const double rate = file.filter.predicted_rate;
  planned.filter_rate = file.filter_is_asked && !std::isnan(rate) ? rate : 1;
  return planned;
}

}  // namespace

PlannedTree PlanTree(const Database& database, const Tree& tree) {
  PlannedTree planned;
  planned.column_family = tree.family.name;
  planned.options = FilterOptionsOf(database.options(), tree.family);
  for (const TreeFile* file : tree.files()) {
    planned.files.push_back(PlanFile(tree.family, *file));
    planned.has_filters = planned.has_filters || file->filter.exists();
  }
  CountFilterEntries(tree, &planned);
  return planned;
}

}  // namespace rocksieve::tools
