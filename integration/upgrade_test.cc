// SPDX-License-Identifier: Apache-2.0
// Safe to install and safe to remove: databases that pass between RocksDB's own filters and ours.
#include <rocksdb/filter_policy.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 30000, kFiles = 5, kMissing = 20000;
constexpr uint64_t kPartitionBytes = 1024;

enum class BuiltIn { kBloom, kLegacyBloom, kRibbon };

PolicyPtr BuiltInPolicy(BuiltIn kind) {
  // Ribbon from level -1 on: otherwise flushes would get a Bloom filter.
  return PolicyPtr(kind == BuiltIn::kRibbon ? rocksdb::NewRibbonFilterPolicy(10, -1)
                                            : rocksdb::NewBloomFilterPolicy(10));
}

DbConfig ConfigFor(PolicyPtr policy, BuiltIn kind, bool partitioned) {
  DbConfig config(std::move(policy));
  config.table.format_version = kind == BuiltIn::kLegacyBloom ? 4 : 5;
  if (partitioned) config.Partitioned(kPartitionBytes);
  return config;
}

class Upgrade : public testing::TestWithParam<std::tuple<BuiltIn, bool>> {
 protected:
  DbConfig With(PolicyPtr policy) const {
    return ConfigFor(std::move(policy), std::get<0>(GetParam()), std::get<1>(GetParam()));
  }
  bool partitioned() const { return std::get<1>(GetParam()); }

  TemporaryDirectory directory_;
};

TEST_P(Upgrade, BuiltInFiltersKeepWorking) {
  const std::string path = directory_ / "db";
  const std::vector<std::string> missing = MissingKeys(kMissing);
  const PolicyPtr built_in = BuiltInPolicy(std::get<0>(GetParam()));
  Oracle oracle;
  {
    const DbPtr db = Open(With(built_in).Build(), path);
    oracle = WriteOverlappingFiles(db.get(), kKeys, kFiles);
  }
  const auto reads_under = [&](PolicyPtr policy) {
    const DbPtr db = Open(With(std::move(policy)).Build(), path);
    return LookUp(db.get(), missing).data_block_reads;
  };
  const uint64_t before = reads_under(built_in);
  const uint64_t unfiltered = reads_under(nullptr);
  EXPECT_GT(before, 0u);
  EXPECT_GE(unfiltered, kFiles * kMissing * 9 / 10);
  EXPECT_LT(before, unfiltered / 20);

  for (const char* spec : {"rocksieve.bloom:10", "rocksieve.cuckoo:12.5", "rocksieve.ribbon:10"}) {
    SCOPED_TRACE(spec);
    const PolicyPtr policy = PolicyFor(spec);
    EXPECT_NEAR(static_cast<double>(reads_under(policy)), static_cast<double>(before), 5);
    const FilterStats stats = StatsOf(policy);
    if (partitioned()) {
      EXPECT_GT(stats.foreign_filters_opened, 5 * kFiles);
    } else {
      EXPECT_EQ(stats.foreign_filters_opened, kFiles);
    }
    EXPECT_EQ(stats.filters_opened, 0u);
    EXPECT_EQ(stats.damaged_filters, 0u);
    EXPECT_EQ(stats.future_filters, 0u);
    const DbPtr db = Open(With(policy).Build(), path);
    ExpectHolds(db.get(), oracle, missing);
  }
}

TEST_P(Upgrade, BuiltInPoliciesFindEveryKeyOfOurs) {
  const std::vector<std::string> missing = MissingKeys(kMissing / 10);
  for (const char* spec : {"rocksieve.bloom:10", "rocksieve.cuckoo:12.5", "rocksieve.ribbon:0.1%",
                           "rocksieve.bloom:1%:salted"}) {
    SCOPED_TRACE(spec);
    const std::string path = directory_ / spec;
    Oracle oracle;
    {
      const DbPtr db = Open(With(PolicyFor(spec)).Build(), path);
      oracle = WriteOverlappingFiles(db.get(), kKeys / 3, 2);
    }
    const DbPtr db = Open(With(BuiltInPolicy(std::get<0>(GetParam()))).Build(), path);
    ExpectHolds(db.get(), oracle, missing);
    // They look at our filters, and do not filter.
    const LookupCost cost = LookUp(db.get(), missing);
    EXPECT_EQ(cost.filters_rejected, 0u);
    EXPECT_EQ(cost.filters_passed, 2 * missing.size());
  }
}

std::string UpgradeName(const testing::TestParamInfo<std::tuple<BuiltIn, bool>>& info) {
  const char* kNames[] = {"Bloom", "LegacyBloom", "Ribbon"};
  return std::string(kNames[static_cast<int>(std::get<0>(info.param))]) +
         (std::get<1>(info.param) ? "Partitioned" : "Full");
}

INSTANTIATE_TEST_SUITE_P(All, Upgrade,
                         testing::Combine(testing::Values(BuiltIn::kBloom, BuiltIn::kLegacyBloom,
                                                          BuiltIn::kRibbon),
                                          testing::Bool()),
                         UpgradeName);

// One visit: the policy under which the database is open, and how its files are made.
struct Visit {
  const char* name;
  PolicyPtr policy;
  bool partitioned;
  bool compacts_everything;
};

// Puts and deletes among a small range of keys, in two files, so that every visit leaves the
// filters of several policies behind in one tree.
void ChangeSome(rocksdb::DB* db, Random* random, Oracle* oracle) {
  for (int file = 0; file < 2; file++) {
    for (int change = 0; change < 1500; change++) {
      const std::string key = PresentKey((*random)() % 10000);
      if ((*random)() % 4 == 0) {
        Must(db->Delete(rocksdb::WriteOptions(), key));
        oracle->erase(key);
      } else {
        const std::string value = std::to_string((*random)());
        Must(db->Put(rocksdb::WriteOptions(), key, value));
        (*oracle)[key] = value;
      }
    }
    Flush(db);
  }
}

TEST(BackAndForth, NothingIsLost) {
  const TemporaryDirectory directory;
  Random random = SeededRandom(20240607);
  const std::vector<std::string> missing = MissingKeys(2000);
  const PolicyPtr bloom(rocksdb::NewBloomFilterPolicy(10)),
      ribbon = BuiltInPolicy(BuiltIn::kRibbon);
  const Visit visits[] = {
      {"our Bloom", PolicyFor("rocksieve.bloom:10"), false, false},
      {"stock Bloom", bloom, false, false},
      {"our Bloom, again", PolicyFor("rocksieve.bloom:10"), false, true},
      {"none", nullptr, false, false},
      {"our cuckoo, partitioned", PolicyFor("rocksieve.cuckoo:12.5"), true, false},
      {"stock Ribbon, partitioned", ribbon, true, false},
      {"our cuckoo", PolicyFor("rocksieve.cuckoo:0.1%"), false, false},
      {"stock Ribbon", ribbon, false, true},
      {"our salted Bloom, partitioned", PolicyFor("rocksieve.bloom:10:salted"), true, true},
      {"none, again", nullptr, false, true},
      {"our Bloom, at last", PolicyFor("rocksieve.bloom:13.7"), false, false},
      {"stock Bloom, at last", bloom, true, true},
  };
  Oracle oracle;
  for (const Visit& visit : visits) {
    SCOPED_TRACE(visit.name);
    DbConfig config(visit.policy);
    if (visit.partitioned) config.Partitioned(kPartitionBytes);
    config.options.target_file_size_base = 64 << 10;
    const DbPtr db = Open(config.Build(), directory / "db");
    ExpectHolds(db.get(), oracle, missing);  // what the others left
    ChangeSome(db.get(), &random, &oracle);
    ExpectHolds(db.get(), oracle, missing);
    if (visit.compacts_everything) {
      Compact(db.get());
      ExpectHolds(db.get(), oracle, missing);
    }
  }
  EXPECT_GT(oracle.size(), 5000u);
  for (const Visit& visit : visits) {
    if (visit.policy == nullptr || visit.policy == bloom || visit.policy == ribbon) continue;
    SCOPED_TRACE(visit.name);
    const FilterStats stats = StatsOf(visit.policy);
    EXPECT_GT(stats.filters_built, 0u);
    EXPECT_EQ(stats.damaged_filters + stats.future_filters, 0u);
  }
  EXPECT_GT(StatsOf(visits[2].policy).foreign_filters_opened, 0u);
}

}  // namespace
}  // namespace rocksieve
