// SPDX-License-Identifier: Apache-2.0
#include "plugin/tables/crc32c.h"

#include <array>
#include <cstddef>

#include "lib/cpu/target.h"
#include "lib/format/coding.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rocksieve {
namespace {

constexpr size_t kWordBytes = 8;

// tables[k][b]: what a byte b does that k more bytes follow ("slicing by 8", Kounavis and Berry,
// 2005).
using CrcTables = std::array<std::array<uint32_t, 256>, kWordBytes>;
constexpr CrcTables MakeCrcTables() {
  CrcTables tables{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
    tables[0][i] = crc;
  }
  for (size_t k = 1; k < kWordBytes; k++) {
    for (size_t i = 0; i < 256; i++) {
      const uint32_t crc = tables[k - 1][i];
      tables[k][i] = crc >> 8 ^ tables[0][crc & 0xFF];
    }
  }
  return tables;
}
constexpr CrcTables kCrcTables = MakeCrcTables();

}  // namespace

uint32_t PortableCrc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (; bytes.size() >= kWordBytes; bytes.remove_prefix(kWordBytes)) {
    const uint64_t word = LoadLittleEndian64(bytes.data()) ^ crc;
    crc = 0;
    for (size_t i = 0; i < kWordBytes; i++) {
      crc ^= kCrcTables[kWordBytes - 1 - i][word >> (8 * i) & 0xFF];
    }
  }
  for (char byte : bytes) crc = crc >> 8 ^ kCrcTables[0][(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

#if defined(__x86_64__)
ROCKSIEVE_TARGET_BEGIN("sse4.2")
namespace {

uint32_t CrcByInstruction(const char* bytes, size_t size) {
  uint64_t crc = 0xFFFFFFFF;
  for (; size >= kWordBytes; size -= kWordBytes, bytes += kWordBytes) {
    crc = _mm_crc32_u64(crc, LoadLittleEndian64(bytes));
  }
  for (; size > 0; size--) {
    crc = _mm_crc32_u8(static_cast<uint32_t>(crc), static_cast<uint8_t>(*bytes++));
  }
  return ~static_cast<uint32_t>(crc);
}

}  // namespace
ROCKSIEVE_TARGET_END

uint32_t Crc32c(std::string_view bytes) {
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  return has_instruction ? CrcByInstruction(bytes.data(), bytes.size()) : PortableCrc32c(bytes);
}
#else
uint32_t Crc32c(std::string_view bytes) { return PortableCrc32c(bytes); }
#endif

}  // namespace rocksieve
