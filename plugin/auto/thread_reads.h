// SPDX-License-Identifier: Apache-2.0
// What RocksDB counts of the blocks that a thread reads, at its usual PerfLevel.
#pragma once

#include <cstdint>

namespace rocksieve {

struct ThreadReads {
  uint64_t data_blocks_read = 0;        // from the storage
  uint64_t data_blocks_from_cache = 0;  // dictionaries of compression, too
  uint64_t found_bytes = 0;             // values of lookups, entries of iterators

  // All 0 where this RocksDB keeps no such counts.
  static ThreadReads Now();
};

}  // namespace rocksieve
