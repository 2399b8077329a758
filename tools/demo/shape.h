// What a tree looks like, file by file, and whether two look the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/status.h>

namespace rocksieve::tools {

// A table file of a tree.
struct ShapeFile {
  int level = 0;
  std::string smallest, largest;  // keys
  uint64_t keys = 0;
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t data_bytes = 0;
  uint64_t filter_bytes = 0;
};

// All files of a tree, in the order of their levels, and of their keys within a level.
using TreeShape = std::vector<ShapeFile>;

rocksdb::Status GetTreeShape(rocksdb::DB* db, TreeShape* shape);

// Empty if both have the same files in the same levels, each with the same key range, number of
// entries and bytes, whatever the filters; else the first difference.
std::string TreeDifference(const TreeShape& a, const TreeShape& b);

struct LevelTotals {
  int level = 0;
  uint64_t files = 0;
  uint64_t keys = 0;
  uint64_t data_bytes = 0;
};

// Of the levels that have files.
std::vector<LevelTotals> TotalsByLevel(const TreeShape& shape);

}  // namespace rocksieve::tools
