// How RocksDB cuts the filter of a file into partitions.
//
// Source: RocksDB 7.8, PartitionedFilterBlockBuilder and PartitionedIndexBuilder. A partition ends
// with the data block in which it reaches the number of keys that the filter's builder names for
// metadata_block_size; or earlier, since filter and index are cut together, where the index's
// partition is full.
#pragma once

#include <cstdint>

#include "tools/whatif/tree.h"

namespace rocksieve::tools {

struct Partitions {
  uint64_t full = 0;       // so many partitions ..
  uint64_t keys_full = 0;  // .. of so many keys,
  uint64_t keys_last = 0;  // and a last one of the rest; 0 if nothing is left
  double index_bytes = 0;  // of the index that leads to them
};

// The size that RocksDB tells a builder for a partition: metadata_block_size less what the rest of
// a data block may add.
uint64_t WantedPartitionBytes(const FilterOptions& options);

// `wanted_keys`: how many of them the builder wants in a partition of that size.
Partitions PartitionsOf(const PlannedFile& file, const FilterOptions& options,
                        uint64_t wanted_keys);

}  // namespace rocksieve::tools
