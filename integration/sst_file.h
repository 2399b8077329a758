// SPDX-License-Identifier: Apache-2.0
// Filter blocks of ours in the bytes of SST files: found, changed, and sealed again.
// The format: docs/formats/block.md.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdarg>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/env.h>

#include "integration/database.h"

namespace rocksieve {

inline constexpr std::string_view kHeadMagic{"\x8ARKS", 4};
inline constexpr std::string_view kTail{"SKR\x8A\xFFR\0S1", 9};  // tail magic and trailer
inline constexpr size_t kCheckWordFromEnd = 17;

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

// Drops what RocksDB logs, and so saves the time of many short visits.
class QuietLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

struct BlockPlace {
  size_t offset, size;
};

inline std::vector<BlockPlace> FindFilterBlocks(std::string_view file) {
  std::vector<BlockPlace> places;
  size_t from = 0;
  while ((from = file.find(kHeadMagic, from)) != std::string_view::npos) {
    const size_t tail = file.find(kTail, from);
    if (tail == std::string_view::npos) break;
    places.push_back({from, tail + kTail.size() - from});
    from = tail + kTail.size();
  }
  return places;
}

inline std::vector<std::string> TableFiles(rocksdb::DB* db) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  std::vector<std::string> paths;
  for (const rocksdb::LiveFileMetaData& file : files) paths.push_back(file.db_path + file.name);
  return paths;
}

// All filter blocks of ours in the database's files, as they are.
inline std::vector<std::string> FilterBlocksOf(rocksdb::DB* db) {
  std::vector<std::string> blocks;
  for (const std::string& path : TableFiles(db)) {
    const std::string bytes = ReadBytes(path);
    for (const BlockPlace& place : FindFilterBlocks(bytes)) {
      blocks.push_back(bytes.substr(place.offset, place.size));
    }
  }
  return blocks;
}

inline void StoreLittleEndian(uint64_t value, int bytes, char* to) {
  for (int i = 0; i < bytes; i++) to[i] = static_cast<char>(value >> 8 * i);
}

// Makes our check word right again, as if the block had been written as it is.
inline void SealAgain(char* block, size_t size) {
  const size_t covered = size - kCheckWordFromEnd;
  StoreLittleEndian(XXH3_64bits(block, covered), 8, block + covered);
}

// Makes RocksDB's checksum of a block right again: the masked CRC-32C of the block and the byte
// behind it, which names the compression. For files written with ChecksumType::kCRC32c.
inline void RepairRocksDbChecksum(std::string* file, const BlockPlace& place) {
  uint32_t crc = ~uint32_t{0};
  for (size_t i = place.offset; i <= place.offset + place.size; i++) {
    crc ^= static_cast<uint8_t>((*file)[i]);
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78 : 0);
  }
  crc = ~crc;
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
  StoreLittleEndian(masked, 4, file->data() + place.offset + place.size + 1);
}

}  // namespace rocksieve
