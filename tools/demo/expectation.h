// The rate that the filters of a tree promise together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plugin/database/tree.h"
#include "tools/demo/variants.h"

namespace rocksieve::tools {

// For each file, how many of the keys RocksDB looks up in it if no file before has them: those
// within its key range.
std::vector<uint64_t> LookupsPerFile(const Tree& tree, std::vector<std::string_view> keys);

// The mean of the files' expected rates, each weighted with its lookups: a small file of level 0 is
// asked as often as the whole last level, and so weighs as much. Zero if there are no lookups.
FileRate ExpectedRate(const Variant& variant, const Tree& tree,
                      const std::vector<uint64_t>& lookups_per_file);

}  // namespace rocksieve::tools
