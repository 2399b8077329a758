// SPDX-License-Identifier: Apache-2.0
// Which reads are filtered by ranges, and which are not, on this release of RocksDB.
#include <thread>

#include <rocksdb/convenience.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksieve/metrics.h>
#include <rocksieve/range.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

// Keys a1 a2 a3, m5 m6, z1 in one file.
class RangeReads : public testing::Test {
 protected:
  void SetUp() override {
    config_.options.statistics = rocksdb::CreateDBStatistics();
    Must(ConfigureRangeFilters("rocksieve.range:16", &config_.options, &config_.table));
    Reopen();
    for (const char* key : {"a1", "a2", "a3", "m5", "m6", "z1"}) {
      Must(db_->Put(rocksdb::WriteOptions(), key, "v"));
    }
    Flush(db_.get());
  }

  void Reopen() {
    db_.reset();
    db_ = Open(config_.Build(), directory_ / "db");
  }

  uint64_t Count(const rocksdb::Tickers ticker) const {
    return config_.options.statistics->getTickerCount(ticker);
  }

  uint64_t Refused() const {
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 803
    return Count(rocksdb::NON_LAST_LEVEL_SEEK_FILTERED) + Count(rocksdb::LAST_LEVEL_SEEK_FILTERED);
#else
    return Count(rocksdb::BLOOM_FILTER_PREFIX_USEFUL);
#endif
  }

  // Whether the one file was refused for a seek to `target`. Checks what was found.
  bool IsRefused(rocksdb::ReadOptions read, const char* target, const char* bound,
                 const char* expected = nullptr) {
    const rocksdb::Slice upper(bound == nullptr ? "" : bound);
    if (bound != nullptr) read.iterate_upper_bound = &upper;
    const uint64_t before = Refused();
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
    iterator->Seek(target);
    EXPECT_EQ(iterator->Valid() ? iterator->key().ToString() : "nothing",
              expected == nullptr ? "nothing" : expected);
    Must(iterator->status());
    return Refused() > before;
  }

  std::string RecordedExtractor() {
    rocksdb::TablePropertiesCollection tables;
    Must(db_->GetPropertiesOfAllTables(&tables));
    return tables.begin()->second->prefix_extractor_name;
  }

  TemporaryDirectory directory_;
  DbConfig config_{PolicyPtr()};
  DbPtr db_;
};

TEST_F(RangeReads, PlainIteratorsWithAnUpperBoundAreFiltered) {
  EXPECT_EQ(RecordedExtractor(), "rocksieve.range.file");
  EXPECT_TRUE(IsRefused({}, "b1", "b2"));
  EXPECT_FALSE(IsRefused({}, "m", "n", "m5"));
  rocksdb::ReadOptions automatic, same_prefix;
  automatic.auto_prefix_mode = true;
  same_prefix.prefix_same_as_start = true;
  EXPECT_TRUE(IsRefused(automatic, "b1", "b2"));
  EXPECT_TRUE(IsRefused(same_prefix, "b1", "b2"));
}

TEST_F(RangeReads, WithoutABoundAndInReverseNothingIsFiltered) {
  EXPECT_FALSE(IsRefused({}, "b1", nullptr, "m5"));
  const rocksdb::Slice upper("b2");
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &upper;
  const uint64_t before = Refused();
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
  iterator->SeekForPrev("b1");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "a3");
  iterator->SeekToLast();
  EXPECT_EQ(iterator->key(), "a3");
  EXPECT_EQ(Refused(), before);
}

// One internal buffer holds both seek keys: who takes addresses for keys loses m5.
TEST_F(RangeReads, SeeksOneAfterTheOtherDoNotMakeARange) {
  const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(rocksdb::ReadOptions()));
  iterator->Seek("b1");
  iterator->Seek("b1z");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "m5");
}

// What was counted since `before`.
RangeQueries Since(const RangeQueries& before) {
  RangeQueries now = GetRangeQueries();
  now.seeks -= before.seeks;
  now.bounded_seeks -= before.bounded_seeks;
  now.negatives -= before.negatives;
  now.positives -= before.positives;
  now.not_proven -= before.not_proven;
  now.other_order -= before.other_order;
  now.begins_at_end -= before.begins_at_end;
  return now;
}

TEST_F(RangeReads, EachKindOfSeekIsCounted) {
  const RangeQueries before = GetRangeQueries();
  IsRefused({}, "b1", "b2");
  IsRefused({}, "b3", "b4");
  IsRefused({}, "m", "n", "m5");
  IsRefused({}, "c", "c");
  for (int i = 0; i < 5; i++) IsRefused({}, "b1", nullptr, "m5");
  const RangeQueries asked = Since(before);
  EXPECT_EQ(asked.seeks, 9u);
  EXPECT_EQ(asked.bounded_seeks, 4u);
  EXPECT_EQ(asked.negatives, 2u);
  EXPECT_EQ(asked.positives, 1u);
  EXPECT_EQ(asked.begins_at_end, 1u);
  EXPECT_EQ(asked.not_proven + asked.other_order, 0u);
}

TEST_F(RangeReads, WhatRocksDbAsksNoFilterAboutIsNotCounted) {
  const RangeQueries before = GetRangeQueries();
  const uint64_t seeks_before = Count(rocksdb::NUMBER_DB_SEEK);
  const rocksdb::Slice upper("b2");
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &upper;
  std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
  iterator->SeekForPrev("b1");
  iterator->SeekToLast();
  iterator->Prev();
  read.total_order_seek = true;
  iterator.reset(db_->NewIterator(read));
  iterator->Seek("b1");
  std::string value;
  EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), "m5", &value).ok());
  const RangeQueries asked = Since(before);
  EXPECT_EQ(asked.seeks + asked.bounded_seeks + asked.negatives + asked.positives, 0u);
  EXPECT_EQ(asked.not_proven + asked.other_order + asked.begins_at_end, 0u);
  EXPECT_EQ(Count(rocksdb::NUMBER_DB_SEEK) - seeks_before, 3u);
  EXPECT_EQ(Count(rocksdb::NUMBER_DB_PREV), 1u);
}

TEST_F(RangeReads, SeeksOfManyThreadsAreCountedOnce) {
  const RangeQueries before = GetRangeQueries();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 70; thread++) {  // more than there are lines to count on
    threads.emplace_back([this] {
      const rocksdb::Slice upper("b2");
      rocksdb::ReadOptions read;
      read.iterate_upper_bound = &upper;
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
      for (int i = 0; i < 100; i++) iterator->Seek("b1");
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RangeQueries asked = Since(before);
  EXPECT_EQ(asked.seeks, 7000u);
  EXPECT_EQ(asked.bounded_seeks, 7000u);
  EXPECT_EQ(asked.negatives, 7000u);
}

TEST_F(RangeReads, SingleKeysAreFiltered) {
  std::string value;
  EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), "m5", &value).ok());
  const uint64_t before = Count(rocksdb::BLOOM_FILTER_USEFUL);
  EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), "m7", &value).IsNotFound());
  EXPECT_EQ(Count(rocksdb::BLOOM_FILTER_USEFUL), before + 1);
}

// To a filter's builder it is the prefix of all keys.
TEST_F(RangeReads, TheEmptyKeyIsFoundInEveryRangeThatBeginsWithIt) {
  Must(db_->Put(rocksdb::WriteOptions(), "", "v"));
  Compact(db_.get());
  for (const char* bound : {"A", "a1", "a2", "z"}) {
    EXPECT_FALSE(IsRefused({}, "", bound, "")) << bound;
  }
  EXPECT_TRUE(IsRefused({}, "A", "B"));
  std::string value;
  EXPECT_TRUE(db_->Get(rocksdb::ReadOptions(), "", &value).ok());
}

TEST_F(RangeReads, TheExtractorGoesAndComesBackOnTheOpenDatabase) {
  Must(db_->SetOptions({{"prefix_extractor", "nullptr"}}));
  EXPECT_FALSE(IsRefused({}, "b1", "b2"));
  Must(db_->SetOptions({{"prefix_extractor", "rocksieve.range"}}));
  EXPECT_TRUE(IsRefused({}, "b1", "b2"));
}

TEST_F(RangeReads, OptionsKeepTheNameThatTurnsItOn) {
  std::string text;
  Must(rocksdb::GetStringFromColumnFamilyOptions(&text, db_->GetOptions()));
  EXPECT_NE(text.find("prefix_extractor=rocksieve.range;"), std::string::npos) << text;
}

TEST_F(RangeReads, PartitionsAnswerForTheirOwnKeysOnly) {
  config_.Partitioned(64);
  config_.table.block_size = 64;
  Reopen();
  Oracle oracle;
  for (uint64_t i = 0; i < 4000; i++) {
    const std::string key = PresentKey(i);
    oracle[key] = "v";
    Must(db_->Put(rocksdb::WriteOptions(), key, "v"));
  }
  Flush(db_.get());
  for (uint64_t i = 0; i + 40 < 4000; i += 7) {
    for (const uint64_t length : {1, 2, 3, 17, 40}) {
      const std::string begin = MissingKey(i), end = NumberedKey(2 * i + 1 + length);
      const rocksdb::Slice upper(end);
      rocksdb::ReadOptions read;
      read.iterate_upper_bound = &upper;
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
      auto expected = oracle.lower_bound(begin);
      for (iterator->Seek(begin); iterator->Valid(); iterator->Next(), ++expected) {
        ASSERT_EQ(iterator->key(), expected->first);
      }
      ASSERT_FALSE(expected != oracle.end() && expected->first < end) << begin << " to " << end;
    }
  }
}

// Of 16 bytes: an entity, of which every second is there, and a time.
std::string EntityKey(uint64_t entity, uint64_t time) {
  std::string key;
  for (const uint64_t number : {entity * 0x9e3779b97f4a7c15, time}) {
    for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  }
  return key;
}

// What is asked decides what the filters of the next compaction know.
TEST(RangeFilters, LearnWhatIsAsked) {
  const TemporaryDirectory directory;
  DbConfig config{PolicyPtr()};
  Must(ConfigureRangeFilters("rocksieve.range:12", &config.options, &config.table));
  const DbPtr db = Open(config.Build(), directory / "db");
  constexpr uint64_t kEntities = 8000;
  Random random(1);
  for (uint64_t entity = 0; entity < kEntities; entity++) {
    for (int i = 0; i < 4; i++) {
      Must(db->Put(rocksdb::WriteOptions(), EntityKey(2 * entity, random() % 1000000), "v"));
    }
  }
  Flush(db.get());
  // Blocks read by 1,000 queries of one kind.
  const auto reads_of = [&](auto query) {
    rocksdb::get_perf_context()->Reset();
    for (int i = 0; i < 1000; i++) query(random() % kEntities);
    return CostSince(0).data_block_reads;
  };
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const auto seek = [&](const std::string& begin, const std::string& end) {
    const rocksdb::Slice upper(end);
    rocksdb::ReadOptions bounded = read;
    bounded.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(bounded));
    iterator->Seek(begin);
    return iterator->Valid();
  };
  const auto absent_entity = [&](uint64_t entity) {
    EXPECT_FALSE(seek(EntityKey(2 * entity + 1, 0), EntityKey(2 * entity + 1, UINT64_MAX)));
  };
  const auto absent_time = [&](uint64_t entity) {
    const uint64_t time = 2000000 + entity;
    EXPECT_FALSE(seek(EntityKey(2 * entity, time), EntityKey(2 * entity, time + 16)));
  };
  const auto absent_key = [&](uint64_t entity) {
    std::string value;
    EXPECT_TRUE(db->Get(read, EntityKey(2 * entity, 3000000), &value).IsNotFound());
  };
  const auto ask = [&](auto query) {
    for (int round = 0; round < 100; round++) reads_of(query);
    Compact(db.get());
  };

  EXPECT_GT(reads_of(absent_entity), 900u) << "nobody has asked for entities";
  ask(absent_entity);
  EXPECT_LT(reads_of(absent_entity), 20u);
  const uint64_t times_of_few = reads_of(absent_time);
  ask(absent_time);
  ask(absent_time);
  EXPECT_LT(reads_of(absent_time), 40u);
  EXPECT_LE(reads_of(absent_time), times_of_few + 10);
  ask(absent_key);
  EXPECT_LT(reads_of(absent_key), 5u);
}

// A filter that this thread built without the extractor must not put the files' name into OPTIONS
// that it writes next: RocksDB reads them again, and would not open the database.
TEST(RangeFilters, OfFilesWithoutTheExtractorLeaveOptionsAlone) {
  const TemporaryDirectory directory;
  DbConfig without("rocksieve.range:12"), with("rocksieve.range:12");
  Must(rocksdb::SliceTransform::CreateFromString(rocksdb::ConfigOptions(), "rocksieve.range",
                                                 &with.options.prefix_extractor));
  Must(Open(without.Build(), directory / "db")->Put(rocksdb::WriteOptions(), "a", "v"));
  Open(without.Build(), directory / "db");  // writes the log's rows into a file, on this thread
  const DbPtr db = Open(with.Build(), directory / "db");
  std::string value;
  EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), "a", &value).ok());
}

// Nor must one of the empty key, in a column family without the extractor.
TEST(RangeFilters, OfTheEmptyKeyLeaveOptionsAlone) {
  const TemporaryDirectory directory;
  DbConfig without("rocksieve.range:12"), with("rocksieve.range:12");
  Must(rocksdb::SliceTransform::CreateFromString(rocksdb::ConfigOptions(), "rocksieve.range",
                                                 &with.options.prefix_extractor));
  rocksdb::Options options = without.Build();
  options.create_missing_column_families = true;
  options.avoid_flush_during_shutdown = true;
  options.fail_if_options_file_error = true;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, options}, {"with", with.Build()}};
  for (int round = 0; round < 2; round++) {
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    DbPtr db;
    // The second time, writes the log's rows into a file, on this thread, and then OPTIONS.
    Must(rocksdb::DB::Open(options, directory / "db", families, &handles, Into(&db)));
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      Must(db->DestroyColumnFamilyHandle(handle));
    }
    Must(db->Put(rocksdb::WriteOptions(), "", "v"));
    Must(db->Put(rocksdb::WriteOptions(), "a", "v"));
  }
}

// Nothing tells a filter reader the order of keys but the options that a database is opened with.
TEST(RangeFilters, AnswerNoRangesInAnotherOrder) {
  const TemporaryDirectory directory;
  DbConfig config("rocksieve.range:16");
  config.options.comparator = rocksdb::ReverseBytewiseComparator();
  Must(rocksdb::SliceTransform::CreateFromString(rocksdb::ConfigOptions(), "rocksieve.range",
                                                 &config.options.prefix_extractor));
  const DbPtr db = Open(config.Build(), directory / "db");
  for (const char* key : {"a1", "m5", "z1"}) Must(db->Put(rocksdb::WriteOptions(), key, "v"));
  Flush(db.get());
  const rocksdb::Slice upper("b");
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(read));
  iterator->Seek("n");
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "m5");
  std::string value;
  EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), "a1", &value).ok());
}

// Nor the options of a column family that is made later: there, the keys tell.
TEST(RangeFilters, AnswerNoRangesOnceKeysComeInAnotherOrder) {
  const TemporaryDirectory directory;
  const ByLength by_length;
  DbConfig config{PolicyPtr()};
  Must(ConfigureRangeFilters("rocksieve.range:16", &config.options, &config.table));
  rocksdb::Options options = config.Build();
  const DbPtr db = Open(options, directory / "db");
  options.comparator = &by_length;
  rocksdb::ColumnFamilyHandle* family;
  Must(db->CreateColumnFamily(options, "numbers", &family));
  for (int i = 1; i <= 100; i++) {
    Must(db->Put(rocksdb::WriteOptions(), family, std::to_string(i), "v"));
    if (i == 50 || i == 100) Must(db->Flush(rocksdb::FlushOptions(), family));
  }
  const rocksdb::Slice upper("70");
  rocksdb::ReadOptions read;
  read.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> iterator(db->NewIterator(read, family));
  int rows = 0;
  for (iterator->Seek("7"); iterator->Valid(); iterator->Next()) rows++;
  EXPECT_EQ(rows, 63);
  Must(db->DestroyColumnFamilyHandle(family));
}

TEST(RangeFilters, RefuseWhatTheyCannotServe) {
  DbConfig config{PolicyPtr()};
  const auto configure = [&](std::string_view spec) {
    const rocksdb::Status status = ConfigureRangeFilters(spec, &config.options, &config.table);
    return status.ok() ? std::string() : status.ToString();
  };
  EXPECT_NE(configure("rocksieve.ribbon:10").find("take rocksieve.range"), std::string::npos);
  EXPECT_NE(configure("rocksieve.range:1").find("allowed are 6 to 32"), std::string::npos);
  config.options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(4));
  EXPECT_NE(configure("rocksieve.range:12").find("there is a prefix extractor already"),
            std::string::npos);
  config.options.prefix_extractor.reset();
  config.options.comparator = rocksdb::ReverseBytewiseComparator();
  EXPECT_NE(configure("rocksieve.range:12").find("the bytewise order alone"), std::string::npos);
  EXPECT_EQ(config.table.filter_policy, nullptr);
  config.options.comparator = rocksdb::BytewiseComparator();
  EXPECT_EQ(configure("rocksieve.range:12"), "");
}

}  // namespace
}  // namespace rocksieve
