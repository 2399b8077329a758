// The inner loops of the cuckoo family, one implementation per instruction set, each in a file of
// its own (kernel_NAME.cc). All of them give the same answers.
#pragma once

#include <cstdint>

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

// What a query works on.
class TableFilter : public Filter {
 public:
  const Table& table() const { return table_; }

 protected:
  TableFilter(const Table& table, uint64_t salt, Query query)
      : Filter(salt, query), table_(table) {}

 private:
  const Table table_;
};

// The filter given must be a TableFilter. May read up to 15 bytes past the last slot.
using QueryFunction = bool (*)(const Filter& table_filter, uint64_t hash);

struct Kernel {
  const char* name;
  QueryFunction (*query_for)(int fingerprint_bits);
};

extern const Kernel kPortableKernel;

// The best kernel of this machine.
const Kernel& ActiveKernel();

}  // namespace rocksieve::cuckoo
