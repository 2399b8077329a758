// The inner loops of the cuckoo family, one implementation per instruction set, each in a file of
// its own (kernel_NAME.cc). All of them give the same answers.
#pragma once

#include <cstdint>

#include "cuckoo/layout.h"

namespace rocksieve::cuckoo {

// The payload of a block, opened and checked.
struct Table {
  const uint8_t* offsets = nullptr;
  const uint8_t* slots = nullptr;
  uint64_t shards = 0;
  uint64_t first_wide_slot = 0;
  int fingerprint_bits = 0;

  // First slot of a shard; of shard `shards`, the number of all slots.
  uint32_t Offset(uint64_t shard) const { return LoadLittleEndian32(offsets + kOffsetBytes * shard); }
};

// At most this many fingerprint bits (of narrow slots), a window fits into one 64-bit load.
inline constexpr int kMaxOneLoadBits = 27;

// May read up to 15 bytes past the last slot.
using QueryFunction = bool (*)(const Table& table, uint64_t hash);

struct Kernel {
  const char* name;
  QueryFunction (*query_for)(int fingerprint_bits);
};

extern const Kernel kPortableKernel;

// The best kernel of this machine.
const Kernel& ActiveKernel();

}  // namespace rocksieve::cuckoo
