// Blocks of table files, made here byte by byte.
#include "plugin/tables/sst_block.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace rocksieve::tools {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

void PutVarint(uint64_t number, std::string* to) {
  for (; number >= 0x80; number >>= 7) *to += static_cast<char>(number | 0x80);
  *to += static_cast<char>(number);
}

// A block with one restart point: each key shares what it can with the one before.
std::string MakeBlock(const Entries& entries) {
  std::string block, last;
  for (const auto& [key, value] : entries) {
    size_t shared = 0;
    while (shared < key.size() && shared < last.size() && key[shared] == last[shared]) shared++;
    PutVarint(shared, &block);
    PutVarint(key.size() - shared, &block);
    PutVarint(value.size(), &block);
    block += key.substr(shared) + value;
    last = key;
  }
  return block + std::string("\0\0\0\0\1\0\0\0", 8);
}

Entries Taken(std::string_view block) {
  Entries entries;
  const rocksdb::Status status = ForEachEntry(block, [&](auto key, auto value) {
    entries.emplace_back(key, value);
    return true;
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return entries;
}

TEST(SstBlock, GivesBackItsEntries) {
  const Entries entries = {{"apple", "1"}, {"application", ""}, {"b", std::string(300, 'x')}};
  EXPECT_EQ(Taken(MakeBlock(entries)), entries);
  EXPECT_EQ(Taken(MakeBlock({})), Entries());
}

TEST(SstBlock, ReadsIndexesWithDifferences) {
  std::string block;
  PutVarint(0, &block);  // the first entry has its place in full
  PutVarint(2, &block);
  block += "aa";
  PutVarint(1000, &block);
  PutVarint(200, &block);
  PutVarint(1, &block);  // this one stands behind it, and is 3 bytes smaller
  PutVarint(1, &block);
  block += "b";
  PutVarint(5, &block);  // -3 with its sign in the lowest bit
  block += std::string("\0\0\0\0\1\0\0\0", 8);
  std::vector<std::string> keys;
  std::vector<uint64_t> numbers;
  const rocksdb::Status status =
      ForEachIndexEntry(block, /*delta_values=*/true, [&](auto key, BlockPlace place) {
        keys.emplace_back(key);
        numbers.insert(numbers.end(), {place.offset, place.size});
        return true;
      });
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(keys, (std::vector<std::string>{"aa", "ab"}));
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1000, 200, 1205, 197}));
}

TEST(SstBlock, StaysInsideOfDamagedOnes) {
  const std::string intact = MakeBlock({{"apple", "value"}, {"banana", "value"}});
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; i++) {
    std::string block = intact.substr(0, random() % (intact.size() + 1));
    if (!block.empty()) block[random() % block.size()] = static_cast<char>(random());
    const std::vector<char> exact(block.begin(), block.end());  // for the address sanitizer
    const std::string_view view(exact.data(), exact.size());
    ForEachEntry(view, [](auto, auto) { return true; }).PermitUncheckedError();
    for (const bool delta : {false, true}) {
      ForEachIndexEntry(view, delta, [](auto, auto) { return true; }).PermitUncheckedError();
    }
  }
}

// RocksDB's, of the nine bytes "123456789": eight of a block, and one for its compression.
TEST(SstBlock, ChecksumsAsRocksDbMakesThem) {
  // CRC-32C of these is E3069283 (RFC 3720's check value), which RocksDB rotates and offsets.
  const uint32_t crc = 0xE3069283;
  EXPECT_EQ(BlockChecksum(rocksdb::kCRC32c, "123456789"), (crc >> 15 | crc << 17) + 0xA282EAD8);
  EXPECT_EQ(BlockChecksum(rocksdb::kxxHash, "123456789"), 0x937BAD67u);
  EXPECT_EQ(BlockChecksum(rocksdb::kxxHash64, "123456789"), 0x40E6AE83u);
}

}  // namespace
}  // namespace rocksieve::tools
