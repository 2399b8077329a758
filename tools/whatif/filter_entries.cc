#include "tools/whatif/filter_entries.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "plugin/database/table_keys.h"
#include "support/parallel.h"

namespace rocksieve::tools {
namespace {

// Whether a filter of the file, if written now, would hold the same entries.
bool WouldHoldTheSame(const ColumnFamily& family, const TableProperties& file) {
  if (file.whole_keys_filtered != family.whole_key_filtering) return false;
  if (family.prefix_extractor_name.empty())
    return !file.prefixes_filtered || file.prefix_extractor_name.empty();
  return file.prefixes_filtered && file.prefix_extractor_name == family.prefix_extractor_name;
}

uint64_t EntriesOfFilter(const TreeFile& file) {
  return file.properties.filter_entries != 0 ? file.properties.filter_entries : file.filter.entries;
}

// Distinct prefixes per key among the first keys of a file; 0 if it cannot be read.
double PrefixesPerKey(const ColumnFamily& family, const TreeFile& file) {
  constexpr int kMostKeys = 2000;
  const std::unique_ptr<TableKeys> opened = TableKeys::Open(family, file);
  if (opened == nullptr) return 0;
  const TableKeys& keys = *opened;
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

// Range deletions count as entries, but are not in filters.
uint64_t Estimate(const ColumnFamily& family, const TreeFile& file) {
  const TableProperties& properties = file.properties;
  const uint64_t keys =
      properties.entries - std::min(properties.entries, properties.range_deletions);
  if (family.prefix_extractor == nullptr || !family.comparator_known) {
    return family.whole_key_filtering ? keys : 0;
  }
  const double per_key = PrefixesPerKey(family, file) + (family.whole_key_filtering ? 1.0 : 0.0);
  return static_cast<uint64_t>(std::llround(per_key * static_cast<double>(keys)));
}

}  // namespace

void CountFilterEntries(const Tree& tree, PlannedTree* planned) {
  const std::vector<const TreeFile*> files = tree.files();
  RunAll(files.size(), [&](size_t i) {
    const TreeFile& file = *files[i];
    const uint64_t known = EntriesOfFilter(file);
    planned->files[i].filter_keys = known != 0 && WouldHoldTheSame(tree.family, file.properties)
                                        ? known
                                        : Estimate(tree.family, file);
    return rocksdb::Status::OK();
  }).PermitUncheckedError();
}

}  // namespace rocksieve::tools
