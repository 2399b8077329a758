// SPDX-License-Identifier: Apache-2.0
// Random histories of a tree: overwrites, merges, deletes of keys and ranges, snapshots, with
// flushes and compactions in between, against an exact oracle.
#include <algorithm>

#include <rocksdb/merge_operator.h>

#include "integration/database.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeyRange = 6000;

// Operands are appended, whatever the grouping.
class Appending final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& operand,
             std::string* result, rocksdb::Logger*) const override {
    result->assign(existing == nullptr ? "" : existing->ToString());
    result->append(operand.data(), operand.size());
    return true;
  }
  const char* Name() const override { return "Appending"; }
};

// A database and what it should hold, changed together.
class CheckedDatabase {
 public:
  CheckedDatabase(rocksdb::DB* db, Random* random, Oracle oracle)
      : db_(db), random_(*random), oracle_(std::move(oracle)) {}

  void ChangeOne() {
    const std::string key = SomeKey();
    const rocksdb::WriteOptions write;
    const uint64_t die = random_() % 100;
    if (die < 50) {
      oracle_[key] = std::to_string(random_());
      Must(db_->Put(write, key, oracle_[key]));
    } else if (die < 70) {
      oracle_[key] += "+";
      Must(db_->Merge(write, key, "+"));
    } else if (die < 95) {
      oracle_.erase(key);
      Must(db_->Delete(write, key));
    } else if (die < 96) {
      DeleteRange(key);
    } else {
      PutAndDeleteOnce(key);
    }
  }

  void Check(const std::vector<std::string>& missing) const { ExpectHolds(db_, oracle_, missing); }

  // Remembers the present state, to be looked at when much has changed.
  void TakeSnapshot() { snapshots_.emplace_back(db_->GetSnapshot(), oracle_); }
  void CheckAndReleaseOldestSnapshot() {
    const auto& [snapshot, oracle_then] = snapshots_.front();
    ExpectHolds(db_, oracle_then, MissingKeys(500), snapshot);
    db_->ReleaseSnapshot(snapshot);
    snapshots_.erase(snapshots_.begin());
  }
  size_t snapshots() const { return snapshots_.size(); }
  const Oracle& oracle() const { return oracle_; }

 private:
  std::string SomeKey() { return PresentKey(random_() % kKeyRange); }

  void DeleteRange(const std::string& from) {
    const std::string end = NumberedKey(std::stoull(from.substr(3)) + random_() % 200);
    oracle_.erase(oracle_.lower_bound(from), oracle_.lower_bound(end));
    Must(db_->DeleteRange(rocksdb::WriteOptions(), db_->DefaultColumnFamily(), from, end));
  }

  // SingleDelete() is for keys that are written once: those have a suffix of their own.
  void PutAndDeleteOnce(const std::string& key) {
    const std::string once = key + ".once" + std::to_string(random_());
    Must(db_->Put(rocksdb::WriteOptions(), once, "once"));
    oracle_[once] = "once";
    once_.push_back(once);
    if (once_.size() > 20) {
      Must(db_->SingleDelete(rocksdb::WriteOptions(), once_.front()));
      oracle_.erase(once_.front());
      once_.erase(once_.begin());
    }
  }

  rocksdb::DB* const db_;
  Random& random_;
  Oracle oracle_;
  std::vector<std::pair<const rocksdb::Snapshot*, Oracle>> snapshots_;
  std::vector<std::string> once_;
};

class History : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(History, EqualsTheOracle) {
  const TemporaryDirectory directory;
  Random random = SeededRandom(1234567);
  const PolicyPtr policy = PolicyFor(std::get<0>(GetParam()));
  DbConfig config(policy);
  if (std::get<1>(GetParam())) config.Partitioned(256);
  config.table.block_size = 512;
  config.options.merge_operator = std::make_shared<Appending>();
  config.options.disable_auto_compactions = false;
  config.options.level0_file_num_compaction_trigger = 2;
  config.options.write_buffer_size = 64 << 10;
  config.options.target_file_size_base = 16 << 10;     // dozens of files,
  config.options.max_bytes_for_level_base = 64 << 10;  // on several levels
  config.options.max_bytes_for_level_multiplier = 4;
  const std::vector<std::string> missing = MissingKeys(kKeyRange);

  Oracle oracle;
  int deepest = 0;
  for (int opened = 0; opened < 3; opened++) {
    const DbPtr db = Open(config.Build(), directory / "db");
    CheckedDatabase checked(db.get(), &random, std::move(oracle));
    checked.Check(missing);
    for (int round = 0; round < 5; round++) {
      checked.TakeSnapshot();
      for (int change = 0; change < 2500; change++) checked.ChangeOne();
      if (round % 2 == 0) Flush(db.get());
      if (round == 3) Compact(db.get());
      checked.Check(missing);
      if (checked.snapshots() > 2) checked.CheckAndReleaseOldestSnapshot();
    }
    while (checked.snapshots() > 0) checked.CheckAndReleaseOldestSnapshot();

    std::vector<rocksdb::LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    for (const auto& file : files) deepest = std::max(deepest, file.level);
    EXPECT_GT(LookUp(db.get(), missing).filters_rejected, missing.size() / 2);
    Must(db->VerifyChecksum());
    oracle = checked.oracle();
  }
  EXPECT_GT(oracle.size(), 1000u);
  EXPECT_GE(deepest, 2);
  EXPECT_EQ(StatsOf(policy).damaged_filters, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, History,
                         testing::Combine(testing::Values("rocksieve.bloom:10",
                                                          "rocksieve.cuckoo:1%"),
                                          testing::Bool()));

}  // namespace
}  // namespace rocksieve
