// SPDX-License-Identifier: Apache-2.0
// Lists of keys: what is written is read, in bounded memory, and nothing else is.
#include "lib/join/rows/key_list.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "lib/format/byte_io.h"
#include "lib/join/session/range_keys.h"
#include "tests/join/memory_source.h"

namespace rocksieve::join {
namespace {

using Keys = std::vector<std::string>;
using ReadKeys = std::vector<std::optional<std::string>>;

std::mt19937_64 SeededRandom() {
  const int seed = testing::UnitTest::GetInstance()->random_seed();
  testing::Test::RecordProperty("seed", seed);
  return std::mt19937_64(static_cast<uint64_t>(seed));
}

// Of few different bytes, so that they share much; some are longer than what zstd gives at once.
Keys SomeKeys(size_t count, size_t most_bytes, std::mt19937_64* random) {
  std::set<std::string> keys;
  std::string key;
  for (size_t i = 0; i < count; i++) {
    key.resize((*random)() % (key.size() + 1));
    const size_t more = (*random)() % (most_bytes - key.size() + 1);
    for (size_t j = 0; j < more; j++) key.push_back(static_cast<char>('a' + (*random)() % 3));
    keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

std::string Written(const Keys& keys, Compression compression = Compression::kDense) {
  KeyListWriter writer(compression);
  for (const std::string& key : keys) writer.Add(key);
  std::string bytes;
  writer.Finish(&bytes);
  return bytes;
}

absl::Status Read(std::string_view bytes, uint64_t most_keys, uint64_t longest, ReadKeys* keys) {
  return ReadKeyList(bytes, most_keys, longest, [keys](std::optional<std::string_view> key) {
    keys->push_back(key ? std::optional<std::string>(*key) : std::nullopt);
  });
}

TEST(KeyList, QuickCompressionIsReadAlike) {
  std::mt19937_64 random = SeededRandom();
  const Keys keys = SomeKeys(2000, 100, &random);
  ReadKeys dense, quick;
  ASSERT_TRUE(Read(Written(keys), keys.size(), UINT64_MAX, &dense).ok());
  ASSERT_TRUE(Read(Written(keys, Compression::kQuick), keys.size(), UINT64_MAX, &quick).ok());
  EXPECT_EQ(quick, dense);
  EXPECT_EQ(quick.size(), keys.size());
}

TEST(KeyList, GivesWhatWasWritten) {
  std::mt19937_64 random = SeededRandom();
  for (const auto& [count, most_bytes] : std::initializer_list<std::pair<size_t, size_t>>{
           {0, 1}, {1, 0}, {2000, 8}, {500, 3000}, {20, 700'000}, {3, 4 << 20}}) {
    const Keys keys = SomeKeys(count, most_bytes, &random);
    const std::string bytes = Written(keys);
    for (const uint64_t longest : {UINT64_MAX, uint64_t{0}, uint64_t{most_bytes / 2}}) {
      ReadKeys expected, read;
      for (const std::string& key : keys) {
        expected.push_back(key.size() <= longest ? std::optional<std::string>(key) : std::nullopt);
      }
      EXPECT_TRUE(Read(bytes, keys.size(), longest, &read).ok());
      EXPECT_TRUE(read == expected) << count << " of " << most_bytes << ", up to " << longest;
    }
    ReadKeys read;
    EXPECT_EQ(keys.empty() || !Read(bytes, keys.size() - 1, UINT64_MAX, &read).ok(), true);
    EXPECT_FALSE(Read(bytes.substr(0, bytes.size() - 1), keys.size(), UINT64_MAX, &read).ok());
  }
}

TEST(KeyList, RefusesWhatIsNone) {
  const std::string whole("\0\1k\1\1x", 6);
  std::vector<std::string> lists = {std::string("\2\1k", 3),  // shares what is not there
                                    std::string("\0\xff\xff\xff\xff\1", 6),  // too long a key
                                    std::string("\0\x80\0k", 4)};  // not the shortest form
  for (size_t bytes = 1; bytes < whole.size(); bytes++) {
    if (bytes != 3) lists.push_back(whole.substr(0, bytes));
  }
  lists.push_back(std::string(100, '\xff'));
  for (const std::string& raw : lists) {
    std::string bytes;
    AppendCompressed(raw, &bytes);
    ReadKeys read;
    EXPECT_FALSE(Read(bytes, 100, UINT64_MAX, &read).ok()) << testing::PrintToString(raw);
  }
  std::string bytes;
  AppendCompressed(whole, &bytes);
  ReadKeys read;
  EXPECT_TRUE(Read(bytes, 2, UINT64_MAX, &read).ok());
  EXPECT_EQ(read, (ReadKeys{"k", "kx"}));
}

TEST(KeyList, IsNotCollectedBeyondTheLimit) {
  std::mt19937_64 random = SeededRandom();
  MemorySource::Rows rows;
  std::vector<uint32_t> ordinals;
  for (uint32_t i = 0; i < 40; i++) {
    std::string key = std::to_string(100 + i);
    while (key.size() < size_t{256} << 10) key.push_back(static_cast<char>(random()));
    rows.emplace_back(key, "");
    ordinals.push_back(i);
  }
  MemorySource source(rows);
  SourceKeyReader reader(&source, {});
  std::string bytes;
  const absl::Status status = reader.AppendKeys(ordinals, Compression::kDense, 3 << 20, &bytes);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(bytes.empty());
  EXPECT_TRUE(reader.AppendKeys(ordinals, Compression::kDense, 20 << 20, &bytes).ok());
  ReadKeys read;
  EXPECT_TRUE(Read(bytes, ordinals.size(), UINT64_MAX, &read).ok());
  ASSERT_EQ(read.size(), rows.size());
  for (size_t i = 0; i < rows.size(); i++) EXPECT_TRUE(read[i] == rows[i].first);
}

}  // namespace
}  // namespace rocksieve::join
