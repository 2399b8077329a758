#include "tools/demo/shape.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/table_properties.h>

#include "tools/demo/options.h"

namespace rocksieve::tools {
namespace {

using rocksdb::Status;

auto Place(const ShapeFile& file) { return std::tie(file.level, file.smallest, file.largest); }

auto Contents(const ShapeFile& file) {
  return std::tie(file.keys, file.key_bytes, file.value_bytes, file.data_blocks, file.data_bytes);
}

}  // namespace

Status GetTreeShape(rocksdb::DB* db, TreeShape* shape) {
  rocksdb::TablePropertiesCollection by_path;
  const Status status = db->GetPropertiesOfAllTables(&by_path);
  if (!status.ok()) return Explained(status, "read the table properties in " + db->GetName());
  std::map<std::string, std::shared_ptr<const rocksdb::TableProperties>> by_name;
  for (const auto& [path, properties] : by_path) {
    by_name[std::filesystem::path(path).filename().string()] = properties;
  }

  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  shape->clear();
  for (const auto& file : files) {
    const auto properties = by_name.find(file.relative_filename);
    if (properties == by_name.end()) {
      return Status::Corruption(db->GetName() + "/" + file.relative_filename,
                                "it has no table properties");
    }
    const rocksdb::TableProperties& table = *properties->second;
    shape->push_back({file.level, file.smallestkey, file.largestkey, table.num_entries,
                      table.raw_key_size, table.raw_value_size, table.num_data_blocks,
                      table.data_size, table.filter_size});
  }
  std::sort(shape->begin(), shape->end(),
            [](const ShapeFile& a, const ShapeFile& b) { return Place(a) < Place(b); });
  return Status::OK();
}

std::string TreeDifference(const TreeShape& a, const TreeShape& b) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " files against " + std::to_string(b.size());
  }
  for (size_t i = 0; i < a.size(); i++) {
    const std::string where =
        "file " + std::to_string(i + 1) + " (level " + std::to_string(a[i].level) + ")";
    if (Place(a[i]) != Place(b[i])) return where + " has another level or key range";
    if (Contents(a[i]) != Contents(b[i])) return where + " has other entries";
  }
  return "";
}

std::vector<LevelTotals> TotalsByLevel(const TreeShape& shape) {
  std::vector<LevelTotals> levels;
  for (const ShapeFile& file : shape) {
    if (levels.empty() || levels.back().level != file.level) levels.push_back({file.level});
    levels.back().files++;
    levels.back().keys += file.keys;
    levels.back().data_bytes += file.data_bytes;
  }
  return levels;
}

}  // namespace rocksieve::tools
