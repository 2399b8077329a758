#include <algorithm>

#include <rocksdb/metadata.h>

#include "plugin/join/sst_filters.h"

namespace rocksieve::join {

void PinTree(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
             const rocksdb::ReadOptions& options, PinnedTree* tree) {
  tree->env = db->GetEnv();
  rocksdb::ReadOptions memtables_only = options;
  memtables_only.read_tier = rocksdb::kMemtableTier;
  tree->memtables.reset(db->NewIterator(memtables_only, family));
  tree->memtable_entries = 0;
  for (const std::string& property : {rocksdb::DB::Properties::kNumEntriesActiveMemTable,
                                      rocksdb::DB::Properties::kNumEntriesImmMemTables}) {
    uint64_t entries = 0;
    if (db->GetIntProperty(family, property, &entries)) tree->memtable_entries += entries;
  }
  rocksdb::ColumnFamilyMetaData data;
  db->GetColumnFamilyMetaData(family, &data);
  tree->files.clear();
  for (const rocksdb::LevelMetaData& level : data.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      tree->files.push_back({file.directory + "/" + file.relative_filename, level.level, file.size,
                             file.smallestkey, file.largestkey});
    }
  }
  std::sort(tree->files.begin(), tree->files.end(),
            [](const auto& a, const auto& b) { return a.smallest < b.smallest; });
}

}  // namespace rocksieve::join
