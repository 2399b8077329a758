// SPDX-License-Identifier: Apache-2.0
// Damaged filter blocks, given to a policy as RocksDB would: no key of the set may ever be
// rejected, and nothing outside of the block may be read.
#include <algorithm>

#include "integration/sst_file.h"
#include "plugin/rocksdb_abi.h"

namespace rocksieve {
namespace {

constexpr int kKeys = 100;

std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (int i = 0; i < kKeys; i++) keys.push_back(PresentKey(static_cast<uint64_t>(i)));
  return keys;
}

std::string BuildBlock(const PolicyPtr& policy, const std::vector<std::string>& keys) {
  const rocksdb::BlockBasedTableOptions options;
  const rocksdb::FilterBuildingContext context(options);
  const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
  for (const std::string& key : keys) builder->AddKey(key);
  std::unique_ptr<const char[]> owner;
  return builder->Finish(&owner).ToString();
}

std::string RandomBytes(Random* random, size_t size) {
  std::string bytes(size, 0);
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

class CorruptBlock : public testing::TestWithParam<const char*> {
 protected:
  // How many keys are rejected, asked one by one or all at once. The block lies in memory of
  // exactly its size, so that the address sanitizer sees what is read outside.
  int Rejected(const std::string& block) const {
    const std::unique_ptr<char[]> copy(new char[block.size()]);
    block.copy(copy.get(), block.size());
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        policy_->GetFilterBitsReader(rocksdb::Slice(copy.get(), block.size())));
    std::vector<rocksdb::Slice> slices(keys_.begin(), keys_.end());
    std::vector<rocksdb::Slice*> pointers;
    for (rocksdb::Slice& slice : slices) pointers.push_back(&slice);
    int rejected = 0;
    for (const rocksdb::Slice& slice : slices) rejected += reader->MayMatch(slice) ? 0 : 1;
    for (int begin = 0; begin < kKeys; begin += 32) {  // RocksDB's batches
      bool may_match[32];
      const int count = std::min(32, kKeys - begin);
      reader->MayMatch(count, &pointers[static_cast<size_t>(begin)], may_match);
      rejected += static_cast<int>(std::count(may_match, may_match + count, false));
    }
    return rejected;
  }

  // The block is not as it was written: it is counted as damaged, and passes every key.
  void ExpectPassesAll(const std::string& block, const std::string& what) {
    const uint64_t damaged = StatsOf(policy_).damaged_filters;
    EXPECT_EQ(Rejected(block), 0) << what;
    EXPECT_EQ(StatsOf(policy_).damaged_filters, damaged + 1) << what;
  }

  const PolicyPtr policy_ = PolicyFor(GetParam());
  const std::vector<std::string> keys_ = Keys();
  const std::string block_ = BuildBlock(policy_, keys_);
};

TEST_P(CorruptBlock, IntactBlockAcceptsItsKeysAndRejectsMostOthers) {
  EXPECT_EQ(Rejected(block_), 0);
  EXPECT_EQ(StatsOf(policy_).filters_opened, 1u);
  const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy_->GetFilterBitsReader(block_));
  int passed = 0;
  for (uint64_t i = 0; i < kKeys; i++) passed += reader->MayMatch(MissingKey(i)) ? 1 : 0;
  EXPECT_LT(passed, kKeys / 5);
}

TEST_P(CorruptBlock, EveryByteChangedInEveryWay) {
  for (size_t at = 0; at < block_.size(); at++) {
    for (int flipped = 1; flipped < 256; flipped++) {
      std::string damaged = block_;
      damaged[at] = static_cast<char>(damaged[at] ^ flipped);
      ExpectPassesAll(damaged, "byte " + std::to_string(at) + " ^ " + std::to_string(flipped));
    }
    if (HasFailure()) break;
  }
}

TEST_P(CorruptBlock, EveryTruncation) {
  // Nothing at all is also RocksDB's own filter of no keys, so it passes every key and is no
  // damage.
  EXPECT_EQ(Rejected(""), 0);
  for (size_t size = 1; size < block_.size(); size++) {
    ExpectPassesAll(block_.substr(0, size), "the first " + std::to_string(size));
    ExpectPassesAll(block_.substr(block_.size() - size), "the last " + std::to_string(size));
  }
}

// With a built-in filter's last five bytes, RocksDB's reader would take the block for its own.
TEST_P(CorruptBlock, BuiltInTrailersOnOurBlock) {
  for (int probes = 1; probes < 128; probes++) {
    std::string legacy(5, 0);  // probes, and the number of 64-byte lines
    legacy[0] = static_cast<char>(probes);
    legacy[1] = static_cast<char>(block_.size() / 64);
    std::string bloom("\xFF\0\0\0\0", 5);
    bloom[2] = static_cast<char>(probes & 31);
    std::string ribbon("\xFE\0\2\0\0", 5);
    ribbon[2] = static_cast<char>(probes);
    for (const std::string& trailer : {legacy, bloom, ribbon}) {
      ExpectPassesAll(block_.substr(0, block_.size() - 5) + trailer, "trailer");
    }
  }
}

// Bytes that disks and kernels leave behind, and parts that were never written: no mark of ours, it
// may be, but nothing that rejects, either.
TEST_P(CorruptBlock, ErasedBlocks) {
  for (size_t size = 0; size <= block_.size(); size++) {
    EXPECT_EQ(Rejected(std::string(size, 0)), 0) << size << " zeros";
    EXPECT_EQ(Rejected(std::string(size, '\xFF')), 0) << size << " ones";
    const std::string zeros(block_.size() - size, 0);
    EXPECT_EQ(Rejected(block_.substr(0, size) + zeros), 0) << "zeros after " << size;
    EXPECT_EQ(Rejected(zeros + block_.substr(zeros.size())), 0) << "zeros before " << size;
  }
}

// Nothing can be promised about keys: what is not known as ours is believed. But nothing may crash,
// or be read from outside.
TEST_P(CorruptBlock, GarbageDoesNotCrash) {
  Random random = SeededRandom(13);
  for (int i = 0; i < 50000; i++) {
    std::string garbage = RandomBytes(&random, random() % 300);
    if (i % 2 == 0 && garbage.size() >= 5) {  // looks like some filter of RocksDB's
      garbage[garbage.size() - 5] = static_cast<char>(static_cast<int>(random() % 20) - 3);
      garbage[garbage.size() - 4] = static_cast<char>(random() % 6);
      for (size_t from_end = 1; from_end < 4; from_end++) garbage[garbage.size() - from_end] &= 7;
    }
    Rejected(garbage);
  }
}

TEST_P(CorruptBlock, LaterVersionsPassAllAndAreCountedAsSuch) {
  // Format version, family, and all flags but the one that is known.
  std::vector<std::pair<size_t, int>> unknown;
  for (int value = 0; value < 256; value++) {
    if (value != 1 && value != 2) unknown.emplace_back(4, value);
    if (value < 1 || value > 4) unknown.emplace_back(5, value);
    // The compact frame, version 2, has a meaning for all of them.
    if ((value & ~1) != 0 && block_[4] == 1) unknown.emplace_back(6, value);
  }
  for (const auto& [at, value] : unknown) {
    std::string block = block_;
    block[at] = static_cast<char>(value);
    SealAgain(block.data(), block.size());
    EXPECT_EQ(Rejected(block), 0) << "byte " << at << " is " << value;
  }
  EXPECT_EQ(StatsOf(policy_).future_filters, unknown.size());
  EXPECT_EQ(StatsOf(policy_).damaged_filters, 0u);
}

INSTANTIATE_TEST_SUITE_P(Specs, CorruptBlock,
                         testing::Values("rocksieve.bloom:10", "rocksieve.bloom:10:salted",
                                         "rocksieve.cuckoo:12.5", "rocksieve.cuckoo:12.5:salted",
                                         "rocksieve.ribbon:10.4", "rocksieve.range:12"));

}  // namespace
}  // namespace rocksieve
