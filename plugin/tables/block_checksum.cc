#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "plugin/tables/sst_block.h"

namespace rocksieve {
namespace {

// CRC-32C (Castagnoli), one byte at a time: fast enough for filters.
constexpr std::array<uint32_t, 256> MakeCrcTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

uint32_t CrcStep(uint32_t crc, char byte) {
  return crc >> 8 ^ kCrcTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
}

// RocksDB stores CRCs rotated and offset, so that a CRC of bytes that hold CRCs is no problem.
uint32_t MaskedCrc(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (char byte : bytes) crc = CrcStep(crc, byte);
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

}  // namespace

uint32_t BlockChecksum(rocksdb::ChecksumType type, std::string_view bytes) {
  switch (type) {
    case rocksdb::kCRC32c:
      return MaskedCrc(bytes);
    case rocksdb::kxxHash:
      return XXH32(bytes.data(), bytes.size(), /*seed=*/0);
    case rocksdb::kxxHash64:
      return static_cast<uint32_t>(XXH64(bytes.data(), bytes.size(), /*seed=*/0));
    case rocksdb::kXXH3:
      return static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size() - 1)) ^
             static_cast<uint8_t>(bytes.back()) * 0x6B9083D9u;
    case rocksdb::kNoChecksum:
      break;
  }
  return 0;
}

}  // namespace rocksieve
