// SPDX-License-Identifier: Apache-2.0
// Damaged filter blocks in the SST files of real databases: every key is still found.
//
// RocksDB's own checksum usually sees damage first, and RocksDB then goes without the filter. What
// a policy must survive is damage behind a right checksum: from memory, before the checksum was
// taken, or in files without checksums.
#include "integration/sst_file.h"

namespace rocksieve {
namespace {

constexpr uint64_t kKeys = 60;

// One small file, and its bytes as they were written.
class CorruptFile : public testing::TestWithParam<const char*> {
 protected:
  void Write(rocksdb::ChecksumType checksum, uint64_t keys, uint64_t partition_bytes = 0) {
    DbConfig config(GetParam());
    config.table.checksum = checksum;
    config.table.format_version = 5;  // the last whose checksums do not depend on the block's place
    if (partition_bytes > 0) config.Partitioned(partition_bytes);
    config.table.block_size = 256;
    config_ = config;
    const DbPtr db = Open(config.Build(), path_);
    oracle_ = WriteOverlappingFiles(db.get(), keys, 1);
    file_ = TableFiles(db.get()).at(0);
    bytes_ = ReadBytes(file_);
    blocks_ = FindFilterBlocks(bytes_);
  }

  // Opens the database with these bytes for its file, under a policy that has seen nothing yet.
  // Returns what the policy saw.
  FilterStats ExpectFindsAll(const std::string& bytes, const std::string& what) {
    WriteBytes(file_, bytes);
    DbConfig config = config_;
    config.options.info_log = quiet_;
    config.table.filter_policy = PolicyFor(GetParam());
    config.table.block_cache = rocksdb::NewLRUCache(1 << 20);
    testing::internal::CaptureStderr();  // the report of damage is damage_report_test's business
    uint64_t lost = 0;
    try {
      const DbPtr db = OpenReadOnly(config.Build(), path_);
      lost = oracle_.size() - LookUp(db.get(), Keys()).found;
      last_cost_ = LookUp(db.get(), MissingKeys(oracle_.size()));
    } catch (...) {
      testing::internal::GetCapturedStderr();
      throw;
    }
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(lost, 0u) << what;
    return StatsOf(config.table.filter_policy);
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : oracle_) keys.push_back(key);
    return keys;
  }

  std::string WithFlip(const BlockPlace& place, size_t at, int pattern) const {
    std::string bytes = bytes_;
    bytes[place.offset + at] = static_cast<char>(bytes[place.offset + at] ^ pattern);
    return bytes;
  }

  const std::shared_ptr<rocksdb::Logger> quiet_ = std::make_shared<QuietLogger>();
  const TemporaryDirectory directory_;
  const std::string path_ = directory_ / "db";
  DbConfig config_{PolicyPtr()};
  Oracle oracle_;
  std::string file_, bytes_;
  std::vector<BlockPlace> blocks_;
  LookupCost last_cost_;
};

TEST_P(CorruptFile, IntactToBeginWith) {
  Write(rocksdb::kNoChecksum, kKeys);
  ASSERT_EQ(blocks_.size(), 1u);
  const FilterStats stats = ExpectFindsAll(bytes_, "intact");
  EXPECT_EQ(stats.filters_opened, 1u);
  EXPECT_EQ(stats.damaged_filters, 0u);
  EXPECT_GT(last_cost_.filters_rejected, kKeys / 2);
}

TEST_P(CorruptFile, DamageThatRocksDbSeesFirst) {
  Write(rocksdb::kCRC32c, kKeys);
  ASSERT_EQ(blocks_.size(), 1u);
  for (size_t at = 0; at < blocks_[0].size; at += 7) {
    const FilterStats stats = ExpectFindsAll(WithFlip(blocks_[0], at, 0x10), std::to_string(at));
    EXPECT_EQ(stats.filters_opened + stats.damaged_filters + stats.foreign_filters_opened, 0u);
  }
}

TEST_P(CorruptFile, DamageBehindARightChecksum) {
  Write(rocksdb::kCRC32c, kKeys);
  ASSERT_EQ(blocks_.size(), 1u);
  for (size_t at = 0; at < blocks_[0].size; at++) {
    std::string bytes = WithFlip(blocks_[0], at, 0x10);
    RepairRocksDbChecksum(&bytes, blocks_[0]);
    const FilterStats stats = ExpectFindsAll(bytes, std::to_string(at));
    EXPECT_EQ(stats.damaged_filters, 1u) << at;
    EXPECT_EQ(stats.filters_opened, 0u) << at;
    EXPECT_EQ(last_cost_.filters_rejected, 0u) << at;
  }
}

TEST_P(CorruptFile, OneDamagedPartitionAmongMany) {
  Write(rocksdb::kNoChecksum, 3000, 256);
  ASSERT_GT(blocks_.size(), 10u);
  Random random = SeededRandom(21);
  for (const BlockPlace& block : blocks_) {
    const size_t at = random() % block.size;
    const std::string what = "partition at " + std::to_string(block.offset);
    const FilterStats stats = ExpectFindsAll(WithFlip(block, at, 0xFF), what);
    EXPECT_EQ(stats.damaged_filters, 1u) << what;
    EXPECT_EQ(stats.filters_opened, blocks_.size() - 1) << what;
    // The others filter on.
    EXPECT_GT(last_cost_.filters_rejected, 3000u * 8 / 10) << what;
  }
}

// Compacting makes new filters out of damaged ones.
TEST_P(CorruptFile, CompactingRepairs) {
  Write(rocksdb::kNoChecksum, 1000);
  WriteBytes(file_, WithFlip(blocks_.at(0), 30, 0xFF));
  const DbPtr db = Open(config_.Build(), path_);
  Compact(db.get());
  ExpectHolds(db.get(), oracle_, MissingKeys(1000));
  EXPECT_GT(LookUp(db.get(), MissingKeys(1000)).filters_rejected, 900u);
}

INSTANTIATE_TEST_SUITE_P(Specs, CorruptFile,
                         testing::Values("rocksieve.bloom:10", "rocksieve.cuckoo:12.5:salted"));

}  // namespace
}  // namespace rocksieve
