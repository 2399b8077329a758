// SPDX-License-Identifier: Apache-2.0
// rocksieve.auto:BITS:range: one budget for lookups and ranges, by what is asked.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/iterator.h>
#include <rocksdb/slice_transform.h>
#include <rocksieve/range.h>

#include "integration/database.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 20000;

class AutoRanges : public testing::Test {
 protected:
  void SetUp() override { Configure("rocksieve.auto:12:range"); }

  void Configure(const char* spec) {
    config_ = DbConfig{PolicyPtr()};
    Must(ConfigureRangeFilters(spec, &config_.options, &config_.table));
    config_.table.no_block_cache = true;
    Reopen();
  }

  void Reopen() {
    db_.reset();
    db_ = Open(config_.Build(), directory_ / "db");
  }

  // Keys are multiples of 1000.
  void Write() {
    for (uint64_t i = 0; i < kKeys; i++) {
      Must(db_->Put(rocksdb::WriteOptions(), BigEndian(1000 * i), std::string(8, 'v')));
    }
    Flush(db_.get());
  }

  uint64_t ReadsOfLookups(uint64_t count) {
    rocksdb::get_perf_context()->Reset();
    std::string value;
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t number = random_() % (1000 * kKeys);
      const bool is_there = db_->Get(rocksdb::ReadOptions(), BigEndian(number), &value).ok();
      EXPECT_EQ(is_there, number % 1000 == 0);
    }
    return CostSince(0).data_block_reads;
  }

  // Filters of lookups are asked about all keys of a batch at once.
  void CheckBatches(int count) {
    constexpr size_t kBatch = 40;
    for (int i = 0; i < count; i++) {
      std::vector<std::string> keys;
      std::vector<bool> expected;
      for (size_t j = 0; j < kBatch; j++) {
        const uint64_t number = random_() % (10 * kKeys);
        keys.push_back(BigEndian(100 * number));
        expected.push_back(number % 10 == 0);
      }
      const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
      std::vector<rocksdb::PinnableSlice> values(kBatch);
      std::vector<rocksdb::Status> statuses(kBatch);
      db_->MultiGet(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), kBatch, slices.data(),
                    values.data(), statuses.data());
      for (size_t j = 0; j < kBatch; j++) EXPECT_EQ(statuses[j].ok(), expected[j]);
    }
  }

  // Of ranges of 16 that hold nothing, and now and then one that does.
  uint64_t ReadsOfRanges(uint64_t count) {
    rocksdb::get_perf_context()->Reset();
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t begin = random_() % (1000 * (kKeys - 1));
      const std::string end = BigEndian(begin + 16);
      const rocksdb::Slice upper(end);
      rocksdb::ReadOptions read;
      read.iterate_upper_bound = &upper;
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
      iterator->Seek(BigEndian(begin));
      EXPECT_EQ(iterator->Valid(), (begin + 999) / 1000 * 1000 < begin + 16) << begin;
      Must(iterator->status());
    }
    return CostSince(0).data_block_reads;
  }

  // Of the filters that were built since the last call: "range", or "ribbon bloom".
  std::string FamiliesBuilt() {
    FilterStats stats;
    Must(GetFilterStats(config_.table.filter_policy.get(), &stats));
    std::map<std::string, uint64_t> filters;
    for (const FiltersBuilt& built : stats.built) filters[built.family] += built.filters;
    std::string families;
    for (const auto& [family, count] : filters) {
      if (count > std::exchange(before_[family], count)) {
        families += (families.empty() ? "" : " ") + family;
      }
    }
    return families;
  }

  const TemporaryDirectory directory_;
  DbConfig config_{PolicyPtr()};
  DbPtr db_;
  Random random_{5};
  std::map<std::string, uint64_t> before_;
};

TEST_F(AutoRanges, FollowWhatIsAsked) {
  Write();
  EXPECT_EQ(FamiliesBuilt(), "range") << "nothing was asked yet";
  EXPECT_LT(ReadsOfRanges(2000), 200u);
  EXPECT_LT(ReadsOfLookups(2000), 50u);

  // The counts of the ranges above are halved until none is left.
  for (int i = 0; i < 40; i++) ReadsOfLookups(50'000);
  Compact(db_.get());
  EXPECT_NE(FamiliesBuilt(), "range") << "nobody asks for ranges";
  EXPECT_LT(ReadsOfLookups(2000), 12u);
  EXPECT_GT(ReadsOfRanges(1000), 900u);
  CheckBatches(100);

  ReadsOfRanges(50'000);
  Compact(db_.get());
  EXPECT_EQ(FamiliesBuilt(), "range");
  EXPECT_LT(ReadsOfRanges(2000), 150u);
  CheckBatches(100);
}

// Filters of lookups in files that record the extractor of range filters.
TEST_F(AutoRanges, FiltersOfLookupsPassAllRangesUnderOtherPolicies) {
  Write();
  for (int i = 0; i < 10; i++) ReadsOfLookups(20'000);
  Compact(db_.get());
  ASSERT_NE(FamiliesBuilt(), "range");
  for (const char* spec : {"rocksieve.range:12", "rocksieve.auto:8:ribbon+range:prefixes-3"}) {
    Configure(spec);
    ReadsOfRanges(2000);
    ReadsOfLookups(2000);
  }
  for (const char* spec : {"rocksieve.ribbon:10", "rocksieve.auto:10"}) {
    for (const char* extractor : {"rocksieve.range", "fixed:3", "nullptr"}) {
      config_ = DbConfig(spec);
      Must(rocksdb::SliceTransform::CreateFromString(rocksdb::ConfigOptions(), extractor,
                                                     &config_.options.prefix_extractor));
      Reopen();
      ReadsOfRanges(1000);
      ReadsOfLookups(1000);
    }
  }
}

TEST_F(AutoRanges, WithoutTheExtractorServeLookups) {
  config_ = DbConfig("rocksieve.auto:12:range");
  config_.table.no_block_cache = true;
  Reopen();
  Write();
  EXPECT_NE(FamiliesBuilt(), "range");
  EXPECT_LT(ReadsOfLookups(2000), 12u);
  EXPECT_GT(ReadsOfRanges(1000), 900u);
}

TEST_F(AutoRanges, ServePartitions) {
  config_.Partitioned(1024);
  Reopen();
  Write();
  EXPECT_LT(ReadsOfRanges(2000), 200u);
  for (int i = 0; i < 10; i++) ReadsOfLookups(20'000);
  Compact(db_.get());
  EXPECT_LT(ReadsOfLookups(2000), 12u);
  ReadsOfRanges(50'000);
  Compact(db_.get());
  EXPECT_LT(ReadsOfRanges(2000), 200u);
  EXPECT_LT(ReadsOfLookups(2000), 50u);
}

}  // namespace
}  // namespace rocksieve
