// Column families with filters of different kinds in one database.
#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 8000;

struct FamilyCase {
  const char* name;
  const char* spec;  // null: RocksDB's own Bloom filter
  bool partitioned;
};

constexpr FamilyCase kFamilyCases[] = {
    {"default", "rocksieve.bloom:10", false},
    {"cuckoo", "rocksieve.cuckoo:12.5", true},
    {"rate", "rocksieve.bloom:0.1%", true},
    {"salted", "rocksieve.cuckoo:10:salted", false},
    {"stock", nullptr, false},
};

class ColumnFamilies : public testing::Test {
 protected:
  ColumnFamilies() {
    for (const FamilyCase& family : kFamilyCases) {
      const PolicyPtr policy = family.spec != nullptr
                                   ? PolicyFor(family.spec)
                                   : PolicyPtr(rocksdb::NewBloomFilterPolicy(10));
      DbConfig config(policy);
      config.table.block_cache = cache_;  // one for all
      if (family.partitioned) config.Partitioned(1024);
      descriptors_.emplace_back(family.name, config.Build());
      policies_.push_back(policy);
    }
  }
  ~ColumnFamilies() override { Close(); }

  void OpenAll() {
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.env = UnsyncedEnv();
    rocksdb::DB* db = nullptr;
    Must(rocksdb::DB::Open(options, directory_ / "db", descriptors_, &handles_, &db));
    db_.reset(db);
  }
  void Close() {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) delete handle;
    handles_.clear();
    db_.reset();
  }

  TemporaryDirectory directory_;
  const std::shared_ptr<rocksdb::Cache> cache_ = rocksdb::NewLRUCache(4 << 20);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors_;
  std::vector<PolicyPtr> policies_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  DbPtr db_;
};

TEST_F(ColumnFamilies, EachHasItsOwnFilters) {
  OpenAll();
  const size_t count = handles_.size();
  std::vector<Oracle> oracles(count);
  for (uint64_t i = 0; i < kKeys; i++) {
    // Every family lacks some keys that its neighbours have.
    for (size_t family = 0; family < count; family++) {
      if (i % count == family) continue;
      const std::string key = PresentKey(i), value = kFamilyCases[family].name + key;
      Must(db_->Put(rocksdb::WriteOptions(), handles_[family], key, value));
      oracles[family][key] = value;
    }
  }
  Must(db_->Flush(rocksdb::FlushOptions(), handles_));
  Close();
  OpenAll();
  std::vector<std::string> all_keys = MissingKeys(1000);
  for (uint64_t i = 0; i < kKeys; i++) all_keys.push_back(PresentKey(i));
  for (size_t family = 0; family < count; family++) {
    SCOPED_TRACE(kFamilyCases[family].name);
    rocksdb::get_perf_context()->Reset();
    ExpectHolds(db_.get(), oracles[family], all_keys, nullptr, handles_[family]);
    EXPECT_GT(CostSince(0).filters_rejected, (kKeys / count + 1000) * 9 / 10);
    if (kFamilyCases[family].spec == nullptr) continue;
    const FilterStats stats = StatsOf(policies_[family]);
    EXPECT_EQ(stats.keys_added, oracles[family].size());
    EXPECT_EQ(stats.foreign_filters_opened + stats.damaged_filters, 0u);
  }
}

TEST_F(ColumnFamilies, OneCanBeAddedAndDropped) {
  OpenAll();
  const PolicyPtr policy = PolicyFor("rocksieve.cuckoo:2%");
  rocksdb::ColumnFamilyHandle* added = nullptr;
  Must(db_->CreateColumnFamily(DbConfig(policy).Build(), "added", &added));
  Oracle oracle;
  for (uint64_t i = 0; i < 1000; i++) {
    oracle[PresentKey(i)] = "added";
    Must(db_->Put(rocksdb::WriteOptions(), added, PresentKey(i), "added"));
  }
  Must(db_->Flush(rocksdb::FlushOptions(), added));
  ExpectHolds(db_.get(), oracle, MissingKeys(1000), nullptr, added);
  EXPECT_EQ(StatsOf(policy).filters_built, 1u);
  Must(db_->DropColumnFamily(added));
  delete added;
  // The policy outlives its column family.
  EXPECT_EQ(StatsOf(policy).keys_added, 1000u);
}

}  // namespace
}  // namespace rocksieve
