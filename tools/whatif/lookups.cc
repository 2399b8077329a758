#include "tools/whatif/lookups.h"

#include <algorithm>
#include <memory>

#include "plugin/database/table_keys.h"
#include "plugin/probe/keys_that_meet.h"
#include "support/parallel.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

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
  const std::unique_ptr<TableKeys> opened = TableKeys::Open(family, file);
  if (opened == nullptr) return 0;
  const TableKeys& found = *opened;
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

Status PlaceLookups(const Tree& tree, Keys* missing_keys, Progress* progress,
                    PlannedTree* planned) {
  SortKeys(tree.family, missing_keys);
  const std::vector<const TreeFile*> files = tree.files();
  const auto all = static_cast<double>(std::max<size_t>(1, missing_keys->size()));
  const bool asks_prefixes = AsksPrefixes(tree.family);
  progress->Begin("placing lookups in column family " + tree.family.name, files.size());
  return RunAll(files.size(), [&](size_t i) {
    if (!files[i]->error.empty()) return Advanced(progress);  // nothing can be said of it
    const KeySpan part = KeysThatMeet(tree, *files[i], *missing_keys);
    planned->files[i].meets = static_cast<double>(part.size()) / all;
    if (asks_prefixes) {
      planned->files[i].prefix_present = PrefixPresent(tree.family, *files[i], *missing_keys, part);
    }
    return Advanced(progress);
  });
}

}  // namespace rocksieve::tools
