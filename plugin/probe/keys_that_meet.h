// Which of many keys come to a file when they are looked up.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plugin/database/tree.h"

namespace rocksieve {

using Keys = std::vector<std::string>;

// Keys number `begin` up to but without `end`.
struct KeySpan {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

// As the column family orders them.
void SortKeys(const ColumnFamily& family, Keys* keys);

// The keys, sorted, that come to a file; all, if their order is unknown.
KeySpan KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys);

}  // namespace rocksieve
