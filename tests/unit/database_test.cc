// SPDX-License-Identifier: Apache-2.0
// What reads the files of any database.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/database/column_family.h"
#include "plugin/probe/missing_keys.h"
#include "plugin/tables/block_cursor.h"
#include "plugin/tables/builtin_model.h"
#include "plugin/tables/decoded_filter.h"
#include "plugin/tables/sst_block.h"

namespace rocksieve::tools {
namespace {

// Blocks of table files, made here byte by byte.

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
    BlockCursor cursor(view);
    if (cursor.Seek("b", 0)) cursor.Next();
    for (const bool delta : {false, true}) {
      ForEachIndexEntry(view, delta, [](auto, auto) { return true; }).PermitUncheckedError();
    }
  }
}

// RocksDB's, of the nine bytes "123456789": eight of a block, and one for its compression.
TEST(SstBlock, ChecksumsAsRocksDbMakesThem) {
  // CRC-32C of these is E3069283 (RFC 3720's check value), which RocksDB rotates and offsets.
  const uint32_t crc = 0xE3069283;
  const auto checksum = [](rocksdb::ChecksumType type, uint32_t base = 0, uint64_t offset = 0) {
    TableFooter footer;
    footer.checksum = type;
    footer.base_context_checksum = base;
    return BlockChecksum(footer, offset, "123456789");
  };
  EXPECT_EQ(checksum(rocksdb::kCRC32c), (crc >> 15 | crc << 17) + 0xA282EAD8);
  EXPECT_EQ(checksum(rocksdb::kxxHash), 0x937BAD67u);
  EXPECT_EQ(checksum(rocksdb::kxxHash64), 0x40E6AE83u);
  // From format_version 6 on, the place in the file is added.
  EXPECT_EQ(checksum(rocksdb::kxxHash, 0, 5), 0x937BAD67u);
  EXPECT_EQ(checksum(rocksdb::kxxHash, 0x100, (uint64_t{3} << 32) + 5), 0x937BAD67u + 0x108);
  EXPECT_EQ(checksum(rocksdb::kNoChecksum, 0x100, 5), 0x105u);
}

TEST(BlockCursor, SeeksTheFirstEntryThatIsNotBelow) {
  for (const size_t interval : {1, 2, 3, 16}) {
    // Keys "k00" to "k98" by twos, with restart points.
    std::string block, places, last;
    uint32_t restarts = 0;
    for (size_t i = 0; i < 50; i++) {
      const std::string key = "k" + std::to_string(100 + 2 * i).substr(1);
      const bool restart = i % interval == 0;
      if (restart) {
        const auto place = static_cast<uint32_t>(block.size());
        for (int byte = 0; byte < 4; byte++) places += static_cast<char>(place >> (8 * byte));
        restarts++;
      }
      const size_t shared = restart ? 0 : key[1] == last[1] ? 2 : 1;
      block += static_cast<char>(shared);
      block += static_cast<char>(key.size() - shared);
      block += '\1';
      block += key.substr(shared) + "v";
      last = key;
    }
    block += places;
    for (int byte = 0; byte < 4; byte++) block += static_cast<char>(restarts >> (8 * byte));
    BlockCursor cursor(block);
    for (int i = 0; i < 100; i++) {
      const std::string key = "k" + std::to_string(100 + i).substr(1);
      ASSERT_TRUE(cursor.Seek(key, 0));
      ASSERT_EQ(cursor.Next(), i < 99);
      if (i == 99) continue;
      EXPECT_EQ(cursor.key(), "k" + std::to_string(100 + (i + 1) / 2 * 2).substr(1));
      ASSERT_EQ(cursor.Next(), i < 97);
    }
    ASSERT_TRUE(cursor.Seek("", 0));
    ASSERT_TRUE(cursor.Next());
    EXPECT_EQ(cursor.key(), "k00");
  }
}

// Keys that look like others.

TEST(KeyShape, DigitsStayDigitsAndDashesDashes) {
  KeyShape shape;
  for (const char* key : {"2021-05-17", "1999-12-01", "2010-01-30"}) shape.Learn(key);
  Random random(1);
  int made = 0;
  for (int i = 0; i < 1000; i++) {
    const std::string key = shape.Variation("2010-01-30", 2, "2010", "2021-99", &random);
    if (key.empty()) continue;
    made++;
    ASSERT_EQ(key.size(), 10u);
    EXPECT_EQ(key.substr(0, 2), "20");
    EXPECT_EQ(key[4], '-');
    EXPECT_EQ(key[7], '-');
    EXPECT_GE(key, "2010");
    EXPECT_LE(key.substr(0, 7), "2021-99");
    EXPECT_EQ(key.find_first_not_of("0123456789-"), std::string::npos) << key;
  }
  EXPECT_GT(made, 500);
}

TEST(KeyShape, LongerKeysBeginWithTheKey) {
  KeyShape shape;
  shape.Learn("abc");
  Random random(2);
  for (int i = 0; i < 100; i++) {
    const std::string key = shape.Longer("abc", &random);
    EXPECT_EQ(key.substr(0, 3), "abc");
    EXPECT_GT(key.size(), 3u);
    EXPECT_LE(key.size(), 11u);
  }
}

// Keys in pairs that share six bytes, where pairs share two: so does a key between pairs.
TEST(KeyShape, SharesAsMuchWithANeighbourAsOthersDo) {
  KeyShape shape;
  shape.Learn("aa1111xx", "aa2222pp", "aa2222qq");
  shape.Learn("aa2222pp", "aa2222qq", "aa3333mm");
  Random random(3);
  for (int i = 0; i < 10; i++) EXPECT_EQ(shape.LikelyCommonBytes(2, &random), 6u);
  EXPECT_EQ(KeyShape().LikelyCommonBytes(2, &random), 2u);
}

TEST(KeyBetween, LiesBetween) {
  Random random(4);
  const std::string far(200, 'k');
  const std::pair<std::string, std::string> ends[] = {
      {"a", "b"}, {"", "z"}, {"abc", "abcd"}, {far + "1", far + "9"}, {"b", "a"}};
  for (const auto& [low, high] : ends) {
    for (int i = 0; i < 100; i++) {
      const std::string key = KeyBetween(low, high, &random);
      EXPECT_GT(key, std::min(low, high));
      EXPECT_LT(key, std::max(low, high));
    }
  }
  EXPECT_EQ(KeyBetween("same", "same", &random), "same");
}

// OPTIONS files as text.

TEST(OptionsFile, FindsValuesBySectionAndName) {
  const OptionsFile file = OptionsFile::Parse(R"(
# written by hand
[Version]
  rocksdb_version=7.8.3

[DBOptions]
  wal_dir=/logs
[CFOptions "default"]
  comparator=leveldb.BytewiseComparator   # the usual
  prefix_extractor = rocksdb.FixedPrefix.8
[TableOptions/BlockBasedTable "default"]
  filter_policy=bloomfilter:10:false
[CFOptions "other"]
  comparator=my.Comparator
)");
  EXPECT_EQ(file.Value("DBOptions", "wal_dir"), "/logs");
  EXPECT_EQ(file.ColumnFamilyValue("default", "comparator"), "leveldb.BytewiseComparator");
  EXPECT_EQ(file.ColumnFamilyValue("default", "prefix_extractor"), "rocksdb.FixedPrefix.8");
  EXPECT_EQ(file.ColumnFamilyValue("other", "comparator"), "my.Comparator");
  EXPECT_EQ(file.TableValue("default", "filter_policy"), "bloomfilter:10:false");
  EXPECT_EQ(file.TableValue("other", "filter_policy"), "");
  EXPECT_EQ(file.Value("DBOptions", "nonsuch"), "");
}

TEST(OptionsFile, UndoesWhatRocksDbEscapes) {
  const OptionsFile file =
      OptionsFile::Parse("[CFOptions \"a\\#b\\:c\\\\d\"]\n  comparator=with\\#sign\\nand more\n");
  EXPECT_EQ(file.ColumnFamilyValue("a#b:c\\d", "comparator"), "with#sign\nand more");
}

TEST(OptionsFile, TakesAnyText) {
  for (const char* text : {"", "[", "]", "[]", "=", "[x", "a=b", "\\", "[\"]\n=\\"}) {
    EXPECT_EQ(OptionsFile::Parse(text).Value("DBOptions", "a"), "") << text;
  }
}

}  // namespace
}  // namespace rocksieve::tools

namespace rocksieve {
namespace {

// RocksDB's filters as they are predicted.

// Figures of RocksDB 7.8.3: bits per key and rates that its filter_bench and our comparisons show.
TEST(BuiltinModel, KnowsRocksDbsFilters) {
  EXPECT_NEAR(BuiltinBloom(1000000, 10).bytes * 8 / 1e6, 10, 0.01);
  EXPECT_NEAR(BuiltinBloom(1000000, 10).rate, 0.0095, 0.0005);
  EXPECT_NEAR(BuiltinRibbon(1000000, 10).bytes * 8 / 1e6, 7.03, 0.1);
  EXPECT_EQ(BuiltinBloom(0, 10).bytes, 0);
  // A few keys: Bloom after all.
  EXPECT_EQ(BuiltinRibbon(20, 10).bytes, BuiltinBloom(20, 10).bytes);
  EXPECT_NEAR(BuiltinRibbon(50000, BuiltinRibbonBitsForRate(0.001)).rate, 0.001, 1e-5);
}

// Files say how many keys their filters have, and may say anything.
TEST(BuiltinModel, IsDoneWithAnyNumberOfKeys) {
  for (const size_t lines : {0, 1, 2, 100}) {
    std::string block(lines * 64, '\0');
    block += std::string("\xff\0\6\0\0", 5);
    if (lines == 0) block.insert(0, "x");
    const DecodedFilter filter = DecodedFilter::Decode(block, kBuiltinStoredName);
    for (const uint64_t keys : {uint64_t{1} << 20, uint64_t{1} << 40, UINT64_MAX}) {
      EXPECT_EQ(filter.PredictedRate(keys), 1) << lines << " lines, " << keys << " keys";
    }
  }
}

}  // namespace
}  // namespace rocksieve
