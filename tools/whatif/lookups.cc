#include "whatif/lookups.h"

#include <algorithm>
#include <memory>

#include <rocksdb/sst_file_reader.h>

#include "database/read_only_env.h"
#include "parallel.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using Keys = std::vector<std::string>;

struct Part {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

// The keys, sorted, that come to a file; all, if their order is unknown.
Part KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys) {
  if (!tree.family.comparator_known) return {0, keys.size()};
  const auto before = [&](const std::string& a, const std::string& b) {
    return tree.family.Compare(a, b) < 0;
  };
  const auto begin = tree.ChecksRanges()
                         ? std::lower_bound(keys.begin(), keys.end(), file.smallest, before)
                         : keys.begin();
  const auto end = std::upper_bound(begin, keys.end(), file.largest, before);
  return {static_cast<size_t>(begin - keys.begin()), static_cast<size_t>(end - keys.begin())};
}

// Whether lookups ask filters for prefixes, and not for whole keys.
bool AsksPrefixes(const ColumnFamily& family) {
  return !family.whole_key_filtering && family.prefix_extractor != nullptr &&
         family.comparator_known;
}

// Of some of the keys, the share whose prefix the file has; a key without one counts as well, since
// no filter is asked for it. Looks for keys with the prefix in the file.
double PrefixPresent(const ColumnFamily& family, const TreeFile& file, const Keys& keys,
                     Part part) {
  constexpr size_t kMostKeys = 200;
  if (part.size() == 0) return 0;
  rocksdb::Options options;
  options.env = ReadOnlyEnv();
  options.comparator = family.comparator.get();
  rocksdb::SstFileReader reader(options);
  if (!reader.Open(file.path).ok()) return 0;
  rocksdb::ReadOptions read;
  read.total_order_seek = true;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> found(reader.NewIterator(read));
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
  std::sort(
      missing_keys->begin(), missing_keys->end(),
      [&](const std::string& a, const std::string& b) { return tree.family.Compare(a, b) < 0; });
  std::vector<const TreeFile*> files;
  for (const TreeLevel& level : tree.levels) {
    for (const TreeFile& file : level.files) files.push_back(&file);
  }
  const auto all = static_cast<double>(std::max<size_t>(1, missing_keys->size()));
  const bool asks_prefixes = AsksPrefixes(tree.family);
  progress->Begin("placing lookups in column family " + tree.family.name, files.size());
  return RunAll(files.size(), [&](size_t i) {
    if (!files[i]->error.empty()) return progress->Advance();  // nothing can be said of it
    const Part part = KeysThatMeet(tree, *files[i], *missing_keys);
    planned->files[i].meets = static_cast<double>(part.size()) / all;
    if (asks_prefixes) {
      planned->files[i].prefix_present = PrefixPresent(tree.family, *files[i], *missing_keys, part);
    }
    return progress->Advance();
  });
}

}  // namespace rocksieve::tools
