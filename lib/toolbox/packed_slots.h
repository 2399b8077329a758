// An array of small numbers, `bits` bits each, one after another: number i begins at bit i * bits,
// the lowest bit first, beginning with the lowest bit of the first byte. The same bytes on every
// machine, so that a table is saved as it lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/format/coding.h"

namespace rocksieve {

inline constexpr int kMostSlotBits = 57;

// Slots are read and written as whole 64-bit words: an array must be that much longer.
inline constexpr size_t kSlotPaddingBytes = 8;

constexpr uint64_t PackedBytes(uint64_t count, int bits) {
  return (count * static_cast<uint64_t>(bits) + 7) / 8;
}

constexpr uint64_t LowBitsMask(int bits) {
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

// REQUIRES: 1 <= bits <= kMostSlotBits; kSlotPaddingBytes follow the array.
inline uint64_t GetSlot(const uint8_t* slots, uint64_t index, int bits) {
  const uint64_t at = index * static_cast<uint64_t>(bits);
  return LoadLittleEndian64(slots + at / 8) >> (at % 8) & LowBitsMask(bits);
}

// REQUIRES: as above, and no bits in `value` beyond `bits`.
inline void SetSlot(uint8_t* slots, uint64_t index, int bits, uint64_t value) {
  const uint64_t at = index * static_cast<uint64_t>(bits);
  const uint64_t others = LoadLittleEndian64(slots + at / 8) & ~(LowBitsMask(bits) << (at % 8));
  StoreLittleEndian64(slots + at / 8, others | value << (at % 8));
}

}  // namespace rocksieve
