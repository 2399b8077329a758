// SPDX-License-Identifier: Apache-2.0
// Little-endian loads and stores at any alignment, on machines of either byte order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace rocksieve {

inline constexpr bool kLittleEndianHost = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

inline uint16_t LoadLittleEndian16(const void* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return kLittleEndianHost ? value : __builtin_bswap16(value);
}

inline uint32_t LoadLittleEndian32(const void* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return kLittleEndianHost ? value : __builtin_bswap32(value);
}

inline uint64_t LoadLittleEndian64(const void* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return kLittleEndianHost ? value : __builtin_bswap64(value);
}

inline void StoreLittleEndian16(void* to, uint16_t value) {
  if (!kLittleEndianHost) value = __builtin_bswap16(value);
  std::memcpy(to, &value, sizeof(value));
}

inline void StoreLittleEndian32(void* to, uint32_t value) {
  if (!kLittleEndianHost) value = __builtin_bswap32(value);
  std::memcpy(to, &value, sizeof(value));
}

inline void StoreLittleEndian64(void* to, uint64_t value) {
  if (!kLittleEndianHost) value = __builtin_bswap64(value);
  std::memcpy(to, &value, sizeof(value));
}

// The upper 64 bits of a 128-bit product: maps a uniform hash to [0, range) without a division
// (Lemire, "Fast random integer generation in an interval", 2019).
inline uint64_t MultiplyHigh64(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
}

inline uint8_t ByteAt(std::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

// Bytes [from, from + count) of a key as a number, most significant first; zeros beyond its end.
// REQUIRES: 1 <= count <= 8.
inline uint64_t NumberAt(std::string_view key, size_t from, size_t count) {
  const size_t beyond = 64 - 8 * count;
  if (key.size() >= from + 8) {
    return __builtin_bswap64(LoadLittleEndian64(key.data() + from)) >> beyond;
  }
  uint64_t number = 0;
  for (size_t i = from; i < key.size(); i++) {
    number |= uint64_t{ByteAt(key, i)} << (56 - 8 * (i - from));
  }
  return number >> beyond;
}

}  // namespace rocksieve
