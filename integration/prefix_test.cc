// SPDX-License-Identifier: Apache-2.0
// Prefixes in the filters: iterators that stay within one, and lookups by prefix alone.
#include <ostream>

#include <rocksdb/slice_transform.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr size_t kPrefixBytes = 6;
constexpr uint64_t kGroups = 2000, kLargestGroup = 12;

std::string Prefix(uint64_t group) {
  char text[16];
  std::snprintf(text, sizeof(text), "g%05u", static_cast<unsigned>(group));
  return text;
}

// Groups of keys with a common prefix; every second group is missing. Some keys are too short to
// have a prefix: they stand behind all groups and one key more, since RocksDB must not come upon
// them when an iterator leaves a prefix (DBIter takes the prefix of whatever comes next).
Oracle GroupedKeys(Random* random) {
  Oracle oracle;
  for (uint64_t group = 0; group < 2 * kGroups; group += 2) {
    for (uint64_t size = 1 + (*random)() % kLargestGroup; size > 0; size--) {
      const std::string key = Prefix(group) + std::to_string((*random)() % 1000);
      oracle[key] = "value of " + key;
    }
  }
  oracle["h00000"] = "behind the groups";
  for (int i = 10; i < 100; i++) oracle["z" + std::to_string(i)] = "short";
  return oracle;
}

struct Layout {
  const char* spec;
  bool partitioned;
  bool whole_keys;
  bool capped;  // CappedPrefix, in whose domain short keys are too

  const rocksdb::SliceTransform* NewExtractor() const {
    return capped ? rocksdb::NewCappedPrefixTransform(kPrefixBytes)
                  : rocksdb::NewFixedPrefixTransform(kPrefixBytes);
  }
};

void PrintTo(const Layout& layout, std::ostream* out) {
  *out << layout.spec << (layout.partitioned ? ", partitioned" : "")
       << (layout.whole_keys ? ", whole keys and" : ", only")
       << (layout.capped ? " capped" : " fixed") << " prefixes";
}

class PrefixFilters : public testing::TestWithParam<Layout> {
 protected:
  void SetUp() override {
    config_.options.prefix_extractor.reset(GetParam().NewExtractor());
    config_.table.whole_key_filtering = GetParam().whole_keys;
    if (GetParam().partitioned) config_.Partitioned(512);
    config_.table.block_size = 512;
    db_ = Open(config_.Build(), directory_ / "db");
    uint64_t written = 0;
    for (const auto& [key, value] : oracle_) {  // three files in turns, with groups cut apart
      Must(db_->Put(rocksdb::WriteOptions(), key, value));
      if (++written % (oracle_.size() / 3 + 1) == 0) Flush(db_.get());
    }
    Flush(db_.get());
  }

  std::vector<std::string> KeysOfMissingGroups() const {
    std::vector<std::string> keys;
    for (uint64_t group = 1; group < 2 * kGroups; group += 2) keys.push_back(Prefix(group) + "5");
    return keys;
  }

  Random random_ = SeededRandom(99);
  const Oracle oracle_ = GroupedKeys(&random_);
  DbConfig config_{GetParam().spec};
  TemporaryDirectory directory_;
  DbPtr db_;
};

// What an iterator that was just placed still has to say, in its direction.
using Entries = std::vector<std::pair<std::string, std::string>>;
Entries Rest(rocksdb::Iterator* iterator, void (rocksdb::Iterator::*step)()) {
  Entries entries;
  for (; iterator->Valid(); (iterator->*step)()) {
    entries.emplace_back(iterator->key().ToString(), iterator->value().ToString());
  }
  Must(iterator->status());
  return entries;
}

Entries ExpectedFrom(const Oracle& oracle, const std::string& target) {
  const std::string prefix = target.substr(0, kPrefixBytes);
  Entries entries;
  for (auto at = oracle.lower_bound(target); at != oracle.end(); ++at) {
    if (at->first.compare(0, kPrefixBytes, prefix) != 0) break;
    entries.push_back(*at);
  }
  return entries;
}

Entries ExpectedBackFrom(const Oracle& oracle, const std::string& target) {
  const std::string prefix = target.substr(0, kPrefixBytes);
  Entries entries;
  for (auto at = oracle.upper_bound(target); at != oracle.begin();) {
    --at;
    if (at->first.compare(0, kPrefixBytes, prefix) != 0) break;
    entries.push_back(*at);
  }
  return entries;
}

void ExpectSeeksAsOracle(rocksdb::DB* db, const Oracle& oracle, Random* random) {
  rocksdb::ReadOptions read;
  read.prefix_same_as_start = true;
  std::unique_ptr<rocksdb::Iterator> reused(db->NewIterator(read));
  for (int i = 0; i < 3000; i++) {
    const std::string target =
        Prefix((*random)() % (2 * kGroups + 2)) + std::to_string((*random)() % 1000);
    SCOPED_TRACE(target);
    std::unique_ptr<rocksdb::Iterator> fresh(i % 10 == 0 ? db->NewIterator(read) : nullptr);
    rocksdb::Iterator* iterator = fresh != nullptr ? fresh.get() : reused.get();
    iterator->Seek(target);
    ASSERT_EQ(Rest(iterator, &rocksdb::Iterator::Next), ExpectedFrom(oracle, target));
    iterator->SeekForPrev(target);
    ASSERT_EQ(Rest(iterator, &rocksdb::Iterator::Prev), ExpectedBackFrom(oracle, target));
  }
}

TEST_P(PrefixFilters, EveryKeyIsFound) {
  ExpectHolds(db_.get(), oracle_, KeysOfMissingGroups());
  Compact(db_.get());
  ExpectHolds(db_.get(), oracle_, KeysOfMissingGroups());
}

TEST_P(PrefixFilters, MissingKeysAreFilteredByKeyOrByPrefix) {
  Compact(db_.get());
  const std::vector<std::string> missing = KeysOfMissingGroups();
  const LookupCost cost = LookUp(db_.get(), missing);
  EXPECT_GT(cost.filters_rejected, missing.size() * 9 / 10);
  EXPECT_LT(cost.data_block_reads, missing.size() / 10);

  // Those of a group that exists can only be told by filters that know whole keys.
  std::vector<std::string> in_groups;
  for (uint64_t group = 0; group < 2 * kGroups; group += 2) {
    in_groups.push_back(Prefix(group) + "x");
  }
  const uint64_t rejected = LookUp(db_.get(), in_groups).filters_rejected;
  if (GetParam().whole_keys) {
    EXPECT_GT(rejected, in_groups.size() * 9 / 10);
  } else {
    EXPECT_LT(rejected, in_groups.size() / 10);
  }
}

TEST_P(PrefixFilters, SeeksWithinAPrefixAnswerAsTheOracle) {
  rocksdb::get_perf_context()->Reset();
  ExpectSeeksAsOracle(db_.get(), oracle_, &random_);
  Compact(db_.get());
  ExpectSeeksAsOracle(db_.get(), oracle_, &random_);
  EXPECT_GT(rocksdb::get_perf_context()->bloom_sst_miss_count, 2000u);
}

TEST_P(PrefixFilters, SeeksToMissingPrefixesReadNoData) {
  Compact(db_.get());
  rocksdb::ReadOptions read;
  read.prefix_same_as_start = true;
  read.fill_cache = false;
  const std::vector<std::string> missing = KeysOfMissingGroups();
  std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
  rocksdb::get_perf_context()->Reset();
  uint64_t found = 0;
  for (const std::string& key : missing) {
    iterator->Seek(key.substr(0, kPrefixBytes));
    found += iterator->Valid() ? 1 : 0;
  }
  const LookupCost cost = CostSince(found);
  EXPECT_EQ(cost.found, 0u);
  EXPECT_GT(cost.filters_rejected, missing.size() * 9 / 10);
  EXPECT_LT(cost.data_block_reads, missing.size() / 10);
}

// RocksDB decides itself when a filter may be asked.
TEST_P(PrefixFilters, AutomaticPrefixModeAnswersAsTheOracle) {
  for (int i = 0; i < 1000; i++) {
    const uint64_t group = random_() % (2 * kGroups);
    const std::string from = Prefix(group) + std::to_string(random_() % 1000);
    const std::string to = Prefix(group + random_() % 3);
    const rocksdb::Slice bound(to);
    rocksdb::ReadOptions read;
    read.auto_prefix_mode = true;
    read.iterate_upper_bound = &bound;
    std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator(read));
    iterator->Seek(from);
    Entries expected;
    for (auto at = oracle_.lower_bound(from); at != oracle_.end() && at->first < to; ++at) {
      expected.push_back(*at);
    }
    ASSERT_EQ(Rest(iterator.get(), &rocksdb::Iterator::Next), expected) << from << " to " << to;
  }
}

// A filter with the prefixes of another extractor must not be asked about the prefixes of this one.
TEST_P(PrefixFilters, AnotherExtractorLater) {
  db_.reset();
  for (const size_t bytes : {size_t{0}, kPrefixBytes - 1, kPrefixBytes + 1}) {
    SCOPED_TRACE(bytes);
    config_.options.prefix_extractor.reset(bytes == 0 ? nullptr
                                                      : rocksdb::NewFixedPrefixTransform(bytes));
    ExpectHolds(Open(config_.Build(), directory_ / "db").get(), oracle_, KeysOfMissingGroups());
  }
}

INSTANTIATE_TEST_SUITE_P(All, PrefixFilters,
                         testing::Values(Layout{"rocksieve.bloom:10", false, true, false},
                                         Layout{"rocksieve.bloom:10", true, true, false},
                                         Layout{"rocksieve.bloom:10", true, true, true},
                                         Layout{"rocksieve.bloom:10", false, false, false},
                                         Layout{"rocksieve.bloom:10", true, false, true},
                                         Layout{"rocksieve.cuckoo:12.5", false, true, true},
                                         Layout{"rocksieve.cuckoo:12.5", true, true, false},
                                         Layout{"rocksieve.cuckoo:12.5", false, false, true},
                                         Layout{"rocksieve.cuckoo:12.5:salted", true, false,
                                                false}));

}  // namespace
}  // namespace rocksieve
