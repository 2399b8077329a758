#include "whatif/read_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

uint64_t NumberOr(const std::string& text, uint64_t otherwise) {
  return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10);
}

FilterOptions FilterOptionsOf(const OptionsFile& options, const ColumnFamily& family) {
  FilterOptions result;
  result.partitioned = options.TableValue(family.name, "partition_filters") == "true";
  result.partition_bytes =
      NumberOr(options.TableValue(family.name, "metadata_block_size"), result.partition_bytes);
  result.partition_deviation_percent = static_cast<int>(
      NumberOr(options.TableValue(family.name, "block_size_deviation"), 10));
  result.skip_bottommost = family.optimize_filters_for_hits;
  result.fifo =
      options.ColumnFamilyValue(family.name, "compaction_style") == "kCompactionStyleFIFO";
  return result;
}

// Whether a filter of the file, if written now, would hold the same entries.
bool FilterWouldHoldTheSame(const ColumnFamily& family, const TableProperties& file) {
  if (file.whole_keys_filtered != family.whole_key_filtering) return false;
  return file.prefix_extractor_name == family.prefix_extractor_name;
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
  if (properties.data_blocks > 0) {
    planned.index_entry_bytes = static_cast<double>(properties.index_bytes) /
                                static_cast<double>(properties.data_blocks);
  }
  planned.flushed = file.level == 0 && properties.oldest_key_time != 0;
  planned.bottommost = !file.filter_is_asked;
  planned.filter_bytes = file.filter.bytes;
  const double rate = file.filter.predicted_rate;
  planned.filter_rate = file.filter_is_asked && !std::isnan(rate) ? rate : 1;
  const uint64_t in_filter =
      properties.filter_entries != 0 ? properties.filter_entries : file.filter.entries;
  if (in_filter != 0 && FilterWouldHoldTheSame(family, properties)) {
    planned.filter_keys = in_filter;
  } else {
    planned.filter_keys = properties.entries - std::min(properties.entries,
                                                        properties.range_deletions);
  }
  return planned;
}

// The share of all live entries that lie in the range of each file, which is the probability that a
// missing key meets it, if missing keys are distributed like live ones. By bytes, from the indexes
// of the files, so that no key distribution need be assumed.
Status MeasureMeets(const Database& database, size_t family_index, const ColumnFamily& family,
                    PlannedTree* tree) {
  if (tree->files.empty()) return Status::OK();
  if (!family.comparator_known) {  // the order of keys is not known: each level covers all of them
    for (PlannedFile& file : tree->files) {
      uint64_t level_entries = 0;
      for (const PlannedFile& other : tree->files) {
        if (other.level == file.level) level_entries += other.entries;
      }
      file.meets = file.level == 0 || level_entries == 0
                       ? 1
                       : static_cast<double>(file.entries) / static_cast<double>(level_entries);
    }
    return Status::OK();
  }
  std::vector<std::string> ends;  // just behind the largest keys; RocksDB's ranges exclude theirs
  std::vector<rocksdb::Range> ranges;
  for (const PlannedFile& file : tree->files) ends.push_back(file.largest + '\0');
  for (size_t i = 0; i < ends.size(); i++) ranges.push_back({tree->files[i].smallest, ends[i]});
  const auto before = [&](const rocksdb::Slice& a, const rocksdb::Slice& b) {
    return family.Compare({a.data(), a.size()}, {b.data(), b.size()}) < 0;
  };
  rocksdb::Range all = ranges[0];
  for (const rocksdb::Range& range : ranges) {
    if (before(range.start, all.start)) all.start = range.start;
    if (before(all.limit, range.limit)) all.limit = range.limit;
  }
  ranges.push_back(all);
  rocksdb::SizeApproximationOptions options;
  options.include_memtables = false;
  options.files_size_error_margin = 0.02;
  std::vector<uint64_t> bytes(ranges.size());
  const Status status = database.db()->GetApproximateSizes(
      options, database.handle(family_index), ranges.data(), static_cast<int>(ranges.size()),
      bytes.data());
  if (!status.ok()) return status;
  const double total = std::max(1.0, static_cast<double>(bytes.back()));
  for (size_t i = 0; i < tree->files.size(); i++) {
    tree->files[i].meets = std::min(1.0, static_cast<double>(bytes[i]) / total);
  }
  return status;
}

}  // namespace

Status PlanTree(const Database& database, size_t family, const Tree& tree, PlannedTree* planned) {
  *planned = PlannedTree();
  planned->column_family = tree.family.name;
  planned->options = FilterOptionsOf(database.options(), tree.family);
  for (const TreeLevel& level : tree.levels) {
    for (const TreeFile& file : level.files) {
      planned->files.push_back(PlanFile(tree.family, file));
      planned->has_filters = planned->has_filters || file.filter.exists();
    }
  }
  return MeasureMeets(database, family, tree.family, planned);
}

}  // namespace rocksieve::tools
