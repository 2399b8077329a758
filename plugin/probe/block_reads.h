// How many data blocks a lookup reads in a file whose filter lets it pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"

namespace rocksieve {

struct BlockReads {
  // Mostly 1: even a key that lies between two blocks reads one. A key between the last key of a
  // block and the boundary that the index has for it reads the next one too, which tells if blocks
  // hold one or two keys; an index that knows the first keys of blocks (kBinarySearchWithFirstKey)
  // saves reads.
  double per_pass = 1;
  uint64_t keys_tried = 0;
  uint64_t keys_found = 0;  // of those; they are not missing at all
  std::string error;        // what kept it from being measured; empty if nothing did
};

// Looks up some of the keys in the database without filters, and counts blocks with RocksDB's own
// counters.
BlockReads MeasureBlockReads(const Database& database, size_t family, const Tree& tree,
                             const std::vector<std::string>& keys);

}  // namespace rocksieve
