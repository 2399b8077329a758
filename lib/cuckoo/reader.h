// SPDX-License-Identifier: Apache-2.0
// Queries the payload of a cuckoo filter block in place.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksieve/filter.h>

#include "lib/cuckoo/layout.h"

namespace rocksieve::cuckoo {

// Slots of one width: constants with which a query compares both slots of a window at once.
struct Zone {
  uint64_t mask = 0;       // the bits of one slot
  uint64_t low_bits = 0;   // the lowest bit of both; times a fingerprint: that one in both slots
  uint64_t high_bits = 0;  // the highest bit of both
};

// At most this many fingerprint bits (of narrow slots), a window fits into one 64-bit load.
inline constexpr int kMaxOneLoadBits = 27;

// The payload of a block, opened and checked.
struct Table {
  const uint8_t* offsets = nullptr;
  const uint8_t* slots = nullptr;
  uint64_t shards = 0;
  uint64_t first_wide_slot = 0;
  int fingerprint_bits = 0;
  Zone zones[2];  // narrow and wide; only up to kMaxOneLoadBits

  // First slot of a shard; of shard `shards`, the number of all slots.
  uint32_t Offset(uint64_t shard) const {
    return LoadLittleEndian32(offsets + kOffsetBytes * shard);
  }
};

// Takes a payload apart. False if it cannot have come from a builder. Reads only the block.
bool ParseTable(const FilterBlockInfo& info, Table* table);

// The share of all hashes that fall into shards which may contain every key.
double SaturatedFraction(const Table& table);

// Null if ParseTable() says no. Queries may read up to 15 bytes past the last slot.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info);

}  // namespace rocksieve::cuckoo
