// SPDX-License-Identifier: Apache-2.0
// Lookups that go elsewhere than the keys are: what rocksieve.auto makes of them in real trees, and
// where it takes them for even.
#include <string>
#include <vector>

#include "integration/tree.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 120000, kKeysPerFlush = 1000, kLooks = 30;

// An eighth of the key space: two hexadecimal digits.
bool IsHot(const std::string& key) { return key[0] == '6' || key[0] == '7'; }

// Nine in ten are hot; never written.
std::string AbsentKey(Random* random) {
  const bool hot = (*random)() % 10 != 0;
  for (;;) {
    std::string key = ScatteredKey((*random)() | 1);
    if (IsHot(key) == hot) return key;
  }
}

struct Bits {
  double hot = 0, cold = 0, all = 0;  // per entry
};

// Of files that lie in the hot eighth, of those that lie outside, and of all.
Bits BitsOf(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
  rocksdb::TablePropertiesCollection tables;
  Must(db->GetPropertiesOfAllTables(family, &tables));
  rocksdb::ColumnFamilyMetaData tree;
  db->GetColumnFamilyMetaData(family, &tree);
  double bits[3] = {}, entries[3] = {};
  for (const auto& level : tree.levels) {
    for (const auto& file : level.files) {
      const auto table = tables.find(file.db_path + file.name);
      if (table == tables.end()) throw std::runtime_error("no properties of " + file.name);
      const bool is_hot = IsHot(file.smallestkey) && IsHot(file.largestkey);
      const bool is_cold = file.largestkey < "6" || file.smallestkey > "8";
      const auto add = [&, &properties = *table->second](int i) {
        bits[i] += 8.0 * static_cast<double>(properties.filter_size);
        entries[i] += static_cast<double>(properties.num_entries);
      };
      add(2);
      // Of the last levels alone, where most keys are.
      if (level.level >= 2 && is_hot) add(0);
      if (level.level >= 2 && is_cold) add(1);
    }
  }
  return {bits[0] / entries[0], bits[1] / entries[1], bits[2] / entries[2]};
}

enum class By { kGet, kMultiGet, kBoth };

// Lookups of so many absent keys, and of half as many present ones below `keys` if they are asked
// for in batches.
void LookUp(rocksdb::DB* db, By by, uint64_t keys, int count, Random* random) {
  constexpr int kBatch = 30;
  std::string value;
  for (int begin = 0; begin < count; begin += kBatch) {
    const bool one_by_one = by == By::kGet || (by == By::kBoth && begin / kBatch % 2 == 0);
    std::vector<std::string> asked;
    for (int i = 0; i < kBatch; i++) {
      asked.push_back(AbsentKey(random));
      if (one_by_one) {
        EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), asked.back(), &value).IsNotFound());
      } else if (i % 2 == 0) {
        asked.push_back(ScatteredKey(2 * ((*random)() % keys)));
      }
    }
    if (one_by_one) continue;
    const std::vector<rocksdb::Slice> slices(asked.begin(), asked.end());
    std::vector<rocksdb::PinnableSlice> values(slices.size());
    std::vector<rocksdb::Status> statuses(slices.size());
    db->MultiGet(rocksdb::ReadOptions(), db->DefaultColumnFamily(), slices.size(), slices.data(),
                 values.data(), statuses.data());
    for (size_t i = 0; i < slices.size(); i++) {
      EXPECT_TRUE(i % 3 == 1 ? statuses[i].ok() : statuses[i].IsNotFound());
    }
  }
}

// Grows a tree while nine in ten lookups of absent keys are hot; every key is still found. The
// mean of the last kLooks flushes, but for all files.
Bits GrowAndLookUp(TreeConfig config, By by = By::kGet, int families = 1) {
  const TemporaryDirectory directory;
  config.db.options.create_missing_column_families = true;
  const DbPtr db = Open(config.db.Build(), directory / "db");
  std::vector<rocksdb::ColumnFamilyHandle*> handles = {db->DefaultColumnFamily()};
  for (int i = 1; i < families; i++) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    Must(db->CreateColumnFamily(db->GetOptions(), "other", &handle));
    handles.push_back(handle);
  }
  Random random(7);
  std::string value;
  Bits bits;
  for (uint64_t next = 0; next < kKeys; next += kKeysPerFlush) {
    for (rocksdb::ColumnFamilyHandle* const handle : handles) {
      for (uint64_t i = next; i < next + kKeysPerFlush; i++) {
        Must(
            db->Put(rocksdb::WriteOptions(), handle, ScatteredKey(2 * i), "value of twenty bytes"));
      }
      Must(db->Flush(rocksdb::FlushOptions(), handle));
    }
    WaitForCompactions(db.get());
    LookUp(db.get(), by, next + kKeysPerFlush, 4000, &random);
    if (next < kKeys - kLooks * kKeysPerFlush) continue;
    const Bits now = BitsOf(db.get(), handles[0]);
    bits = {bits.hot + now.hot / kLooks, bits.cold + now.cold / kLooks, now.all};
  }
  for (uint64_t i = 0; i < kKeys; i++) {
    Must(db->Get(rocksdb::ReadOptions(), handles[0], ScatteredKey(2 * i), &value));
  }
  std::printf("bits: hot %.2f, cold %.2f, all %.2f\n", bits.hot, bits.cold, bits.all);
  for (size_t i = 1; i < handles.size(); i++) Must(db->DestroyColumnFamilyHandle(handles[i]));
  return bits;
}

TreeConfig SmallTree(const std::string& spec, bool listener) {
  TreeConfig config(spec, listener, 4);
  // Blocks of false positives are not in the cache, so that all of them count.
  config.db.table.block_cache = rocksdb::NewLRUCache(32 << 10);
  return config;
}

class AutoSkew : public testing::Test {};

TEST_F(AutoSkew, FilesThatAreAskedOftenHaveMoreBits) {
  for (const bool listener : {true, false}) {
    const Bits bits = GrowAndLookUp(SmallTree("rocksieve.auto:10", listener));
    EXPECT_GT(bits.hot, bits.cold + 3) << listener;
    EXPECT_NEAR(bits.all, 10, listener ? 0.4 : 0.8);
  }
}

TEST_F(AutoSkew, FilesThatMultiGetAsksOftenHaveMoreBits) {
  for (const By by : {By::kMultiGet, By::kBoth}) {
    const Bits bits = GrowAndLookUp(SmallTree("rocksieve.auto:10", true), by);
    EXPECT_GT(bits.hot, bits.cold + 3);
    EXPECT_NEAR(bits.all, 10, 0.4);
  }
}

TEST_F(AutoSkew, IsKeptToABudgetOfBytes) {
  const Bits bits = GrowAndLookUp(SmallTree("rocksieve.auto:120kB", true));  // 8 for each key
  EXPECT_GT(bits.hot, bits.cold + 4);
  EXPECT_LT(bits.all, 8 * 1.07);
  EXPECT_GT(bits.all, 8 * 0.85);
}

TEST_F(AutoSkew, IsKeptInPartitions) {
  TreeConfig config = SmallTree("rocksieve.auto:10", true);
  config.db.Partitioned(2048);
  for (const By by : {By::kGet, By::kMultiGet}) {
    const Bits bits = GrowAndLookUp(config, by);
    EXPECT_GT(bits.hot, bits.cold + 2);
    EXPECT_NEAR(bits.all, 10, 0.8);
  }
}

void ExpectEven(const Bits& bits) { EXPECT_NEAR(bits.hot, bits.cold, 1.2); }

TEST_F(AutoSkew, IsNotHeardWithTheOptionEven) {
  for (const By by : {By::kGet, By::kMultiGet}) {
    ExpectEven(GrowAndLookUp(SmallTree("rocksieve.auto:10:even", true), by));
  }
}

// Whose keys it hears, nothing tells.
TEST_F(AutoSkew, IsNotHeardWhereColumnFamiliesShareAPolicy) {
  ExpectEven(GrowAndLookUp(SmallTree("rocksieve.auto:10", true), By::kGet, 2));
}

TEST_F(AutoSkew, IsNotHeardInOtherOrders) {
  TreeConfig config = SmallTree("rocksieve.auto:10", true);
  config.db.options.comparator = rocksdb::ReverseBytewiseComparator();
  const TemporaryDirectory directory;
  const DbPtr db = Open(config.db.Build(), directory / "db");
  Random random(7);
  std::string value;
  for (uint64_t next = 0; next < kKeys; next += 4000) {
    for (uint64_t i = next; i < next + 4000; i++) {
      Must(db->Put(rocksdb::WriteOptions(), ScatteredKey(2 * i), "value of twenty bytes"));
    }
    Must(db->Flush(rocksdb::FlushOptions()));
    WaitForCompactions(db.get());
    for (int i = 0; i < 4000; i++) {
      EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), AbsentKey(&random), &value).IsNotFound());
    }
  }
  EXPECT_NEAR(MemoryOf(db.get()).bits(), 10, 0.5);
}

}  // namespace
}  // namespace rocksieve
