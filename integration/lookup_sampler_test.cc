// SPDX-License-Identifier: Apache-2.0
// What samplers make of the queries that they hear, without a database.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/perf_context.h>

#include "plugin/auto/lookup_sampler.h"

namespace rocksieve {
namespace {

std::string NumberedKey(uint64_t number) { return "key" + std::to_string(1000000 + number); }

// SplitMix64: neighbours have nothing in common.
uint64_t HashOfNumber(uint64_t number) {
  uint64_t hash = (number + 1) * 0x9E3779B97F4A7C15;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
  return hash ^ (hash >> 31);
}

// As a reader does.
void Ask(LookupSampler* sampler, uint64_t number, bool passed) {
  const uint64_t hash = HashOfNumber(number);
  if (LookupSampler::Listens(hash)) sampler->Hear(NumberedKey(number), hash, passed);
}

// A lookup in six files; a present key is in the fourth.
void LookUp(LookupSampler* sampler, uint64_t number, bool present) {
  for (int file = 0; file < 6; file++) {
    Ask(sampler, number, present && file == 3);
    if (present && file == 3) {
      rocksdb::get_perf_context()->get_read_bytes += 10;
      return;
    }
  }
}

// As a reader does with the keys of a batch.
void AskAtOnce(LookupSampler* sampler, const std::vector<uint64_t>& numbers,
               const std::function<bool(uint64_t)>& passes) {
  std::vector<std::string> keys;
  std::vector<rocksdb::Slice> slices;
  std::vector<const rocksdb::Slice*> pointers;
  std::vector<uint64_t> hashes;
  const std::unique_ptr<bool[]> passed(new bool[numbers.size()]);
  for (const uint64_t number : numbers) keys.push_back(NumberedKey(number));
  for (const std::string& key : keys) slices.emplace_back(key);
  for (size_t i = 0; i < numbers.size(); i++) {
    pointers.push_back(&slices[i]);
    hashes.push_back(HashOfNumber(numbers[i]));
    passed[i] = passes(numbers[i]);
  }
  LookupSampler::HeardKeys heard;
  for (const uint64_t hash : hashes) heard.Add(hash);
  if (heard.any()) {
    sampler->HearBatch(heard, pointers.data(), hashes.data(), passed.get(),
                       static_cast<int>(numbers.size()));
  }
}

constexpr uint64_t kBatch = 32;

std::vector<uint64_t> BatchFrom(uint64_t first) {
  std::vector<uint64_t> numbers(kBatch);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// As MultiGet() does with keys of which every other one is present: in the levels' files one after
// the other, present keys in the fourth level.
void LookUpAtOnce(LookupSampler* sampler, uint64_t first) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  for (int level = 0; level < 6; level++) {
    const uint64_t files = level < 2 ? 1 : 4;
    for (uint64_t file = 0; file < files; file++) {
      std::vector<uint64_t> numbers;
      for (uint64_t i = file * kBatch / files; i < (file + 1) * kBatch / files; i++) {
        if (level <= 3 || i % 2 != 0) numbers.push_back(first + i);
      }
      AskAtOnce(sampler, numbers, [&](uint64_t i) { return level == 3 && i % 2 == 0; });
      if (level == 3) perf.block_read_count++;
    }
  }
  perf.multiget_read_bytes += 10;
}

TEST(LookupSampler, KeepsAbsentKeysAlone) {
  LookupSampler sampler;
  for (uint64_t i = 0; i < 100000; i++) LookUp(&sampler, i, i % 2 == 0);
  EXPECT_GT(sampler.absent_count(), 300u);
  const HeardLookups heard = sampler.Take();
  EXPECT_EQ(sampler.absent_count(), 0u);
  for (const HeardLookups::Passed& passed : heard.passed) EXPECT_TRUE(passed.was_found);
  for (const std::string& key : heard.absent_keys) EXPECT_EQ((key.back() - '0') % 2, 1) << key;
  // From all times alike.
  const auto early = std::count_if(heard.absent_keys.begin(), heard.absent_keys.end(),
                                   [](const std::string& key) { return key < NumberedKey(50000); });
  EXPECT_NEAR(static_cast<double>(early) / static_cast<double>(heard.absent_keys.size()), 0.5, 0.1);
}

TEST(LookupSampler, KeepsAbsentKeysOfBatchesAlone) {
  LookupSampler sampler;
  for (uint64_t i = 0; i < 200000; i += kBatch) LookUpAtOnce(&sampler, i);
  EXPECT_GT(sampler.absent_count(), 300u);
  const HeardLookups heard = sampler.Take();
  uint64_t early = 0;
  for (const std::string& key : heard.absent_keys) {
    EXPECT_EQ((key.back() - '0') % 2, 1) << key;
    // From all places of batches alike.
    if ((std::stoull(key.substr(3)) - 1000000) % kBatch < kBatch / 2) early++;
  }
  EXPECT_NEAR(static_cast<double>(early) / static_cast<double>(heard.absent_keys.size()), 0.5, 0.1);
  EXPECT_FALSE(heard.passed.empty());
  for (const HeardLookups::Passed& passed : heard.passed) {
    EXPECT_EQ((passed.key.back() - '0') % 2, 0) << passed.key;
    EXPECT_TRUE(passed.was_found);
    EXPECT_TRUE(passed.was_read);
  }
}

TEST(LookupSampler, HearsBatchesAndSingleKeysOfOneThread) {
  LookupSampler sampler;
  for (uint64_t i = 0; i < 200000; i += 2 * kBatch) {
    LookUpAtOnce(&sampler, i);
    for (uint64_t j = 0; j < kBatch; j++) LookUp(&sampler, i + kBatch + j, j % 2 == 0);
  }
  uint64_t of_batches = 0;
  const HeardLookups heard = sampler.Take();
  for (const std::string& key : heard.absent_keys) {
    EXPECT_EQ((key.back() - '0') % 2, 1) << key;
    if ((std::stoull(key.substr(3)) - 1000000) / kBatch % 2 == 0) of_batches++;
  }
  const auto all = static_cast<double>(heard.absent_keys.size());
  EXPECT_GT(all, 300);
  EXPECT_NEAR(static_cast<double>(of_batches) / all, 0.5, 0.15);
}

TEST(LookupSampler, KeepsNoMoreThanItsSample) {
  LookupSampler sampler;
  for (uint64_t i = 0; i < 1000000; i++) LookUp(&sampler, i, false);
  EXPECT_EQ(sampler.absent_count(), 512u);
  const HeardLookups heard = sampler.Take();
  EXPECT_GT(std::set<std::string>(heard.absent_keys.begin(), heard.absent_keys.end()).size(), 500u);
  EXPECT_TRUE(sampler.Take().absent_keys.empty());
}

TEST(LookupSampler, LeavesLongKeysAlone) {
  LookupSampler sampler;
  const std::string key(1000, 'x');
  const rocksdb::Slice slice(key);
  const rocksdb::Slice* const pointer = &slice;
  const uint64_t hash = 0;
  for (const bool passed : {false, true}) {
    sampler.Hear(key, hash, passed);
    LookupSampler::HeardKeys heard;
    heard.Add(hash);
    sampler.HearBatch(heard, &pointer, &hash, &passed, 1);
    // Nothing is to be learnt from the next query.
    EXPECT_FALSE(LookupSampler::Listens(~uint64_t{0}));
  }
}

// Without any rhythm, which might be that of the keys that are heard.
uint64_t KindOf(uint64_t number) { return std::mt19937_64(number)(); }

// RocksDB counts blocks between one query and the next.
TEST(LookupSampler, TellsWhatPassedKeysRead) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  LookupSampler sampler;
  constexpr uint64_t kLookups = 40000;
  for (uint64_t i = 0; i < kLookups; i++) {
    for (uint64_t absent = 0; absent < 20; absent++) {
      Ask(&sampler, kLookups * (absent + 1) + i, false);
    }
    Ask(&sampler, i, true);
    if (KindOf(i) % 3 == 0) perf.block_read_count++;
    if (KindOf(i) % 3 == 1) perf.block_cache_hit_count++;
    // Else nothing was counted at all.
    if (KindOf(i) % 2 == 0) perf.get_read_bytes += 5;
  }
  const HeardLookups heard = sampler.Take();
  int found = 0;
  for (const HeardLookups::Passed& passed : heard.passed) {
    const uint64_t kind = KindOf(std::stoull(passed.key.substr(3)) - 1000000);
    EXPECT_EQ(kind % 3, passed.was_read ? 0u : 1u);
    EXPECT_EQ(kind % 2 == 0, passed.was_found);
    if (passed.was_found) found++;
  }
  EXPECT_GT(found, 30);
  EXPECT_GT(static_cast<int>(heard.passed.size()) - found, 30);
  EXPECT_TRUE(sampler.Take().passed.empty());
}

// RocksDB counts blocks between the calls for one file and the next, those of all the file's
// partitions at once.
TEST(LookupSampler, TellsWhatPassedKeysOfBatchesRead) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  LookupSampler sampler;
  constexpr uint64_t kLookups = 40000;
  for (uint64_t i = 0; i < kLookups; i++) {
    std::vector<uint64_t> numbers = {i};
    for (uint64_t absent = 1; absent < 20; absent++) numbers.push_back(kLookups * absent + i);
    const bool is_found = KindOf(i) % 2 == 0;
    AskAtOnce(&sampler, numbers, [&](uint64_t number) { return number == i; });
    perf.block_cache_hit_count++;
    perf.block_cache_filter_hit_count++;  // the next partition
    AskAtOnce(&sampler, {kLookups * 20 + i}, [](uint64_t) { return false; });
    perf.block_cache_hit_count++;
    perf.block_cache_index_hit_count++;
    if (KindOf(i) % 3 == 0) perf.block_read_count++;
    if (KindOf(i) % 3 == 1) perf.block_cache_hit_count++;
    // Else nothing was counted at all.
    if (is_found) numbers.erase(numbers.begin());
    AskAtOnce(&sampler, numbers, [](uint64_t) { return false; });
    if (is_found) perf.multiget_read_bytes += 5;
  }
  const HeardLookups heard = sampler.Take();
  int found = 0;
  for (const HeardLookups::Passed& passed : heard.passed) {
    const uint64_t kind = KindOf(std::stoull(passed.key.substr(3)) - 1000000);
    EXPECT_NE(kind % 3, 2u);
    EXPECT_EQ(kind % 3, passed.was_read ? 0u : 1u);
    EXPECT_EQ(kind % 2 == 0, passed.was_found);
    if (passed.was_found) found++;
  }
  EXPECT_GT(found, 30);
  EXPECT_GT(static_cast<int>(heard.passed.size()) - found, 30);
}

// The last level's keys are not asked for again.
TEST(LookupSampler, TakesPassedKeysForAbsentWhereBatchesFindNothing) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  LookupSampler sampler;
  for (uint64_t i = 0; i < 400000; i += kBatch) {
    const std::vector<uint64_t> numbers = BatchFrom(i);
    AskAtOnce(&sampler, numbers, [](uint64_t) { return false; });
    // One in 50.
    AskAtOnce(&sampler, numbers, [](uint64_t number) { return KindOf(number) % 50 == 0; });
    perf.block_read_count++;
  }
  const HeardLookups heard = sampler.Take();
  EXPECT_GT(heard.passed.size(), 30u);
  for (const HeardLookups::Passed& passed : heard.passed) {
    EXPECT_FALSE(passed.was_found);
    EXPECT_TRUE(passed.was_read);
    EXPECT_EQ(KindOf(std::stoull(passed.key.substr(3)) - 1000000) % 50, 0u);
  }
}

// Of several blocks, the share that was read.
TEST(LookupSampler, TellsHowManyOfTheBlocksOfBatchesWereRead) {
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  LookupSampler sampler;
  for (uint64_t i = 0; i < 400000; i += kBatch) {
    const std::vector<uint64_t> numbers = BatchFrom(i);
    AskAtOnce(&sampler, numbers, [](uint64_t) { return true; });
    perf.block_read_count += 5;
    perf.block_cache_hit_count += 15;
    perf.multiget_read_bytes += 100;
  }
  const HeardLookups heard = sampler.Take();
  EXPECT_GT(heard.passed.size(), 200u);
  const auto read = std::count_if(heard.passed.begin(), heard.passed.end(),
                                  [](const HeardLookups::Passed& key) { return key.was_read; });
  EXPECT_NEAR(static_cast<double>(read) / static_cast<double>(heard.passed.size()), 0.25, 0.1);
}

TEST(LookupSampler, ThreadsMayAskAndTakeAtOnce) {
  LookupRecord record;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; !stop; i++) {
        LookUp(record.sampler().get(), 3 * i + t, i % 4 == 0);
        if (i % kBatch == 0) LookUpAtOnce(record.sampler().get(), 3 * i);
      }
    });
  }
  for (int builder = 0; builder < 2; builder++) {
    threads.emplace_back([&] {
      const std::string first = NumberedKey(0), last = NumberedKey(8999999);
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) {
        record.CountBuilt(100);
        const auto density = record.Density({{first, last, 800, 800}});
        if (density != nullptr) {
          EXPECT_GT(density->Between(density->PlaceOf(first), density->PlaceOf(last)), 0);
        }
      }
    });
  }
  for (size_t t = 3; t < threads.size(); t++) threads[t].join();
  stop = true;
  for (size_t t = 0; t < 3; t++) threads[t].join();
}

TEST(LookupSampler, HearsNothingWhileAThreadEnds) {
  LookupSampler sampler;
  struct Last {
    LookupSampler* sampler = nullptr;
    ~Last() {
      for (uint64_t i = 0; i < 2000; i++) Ask(sampler, i, i % 8 == 0);
    }
  };
  std::thread([&] {
    static thread_local Last last;  // before what the sampler has of the thread, so it goes after
    last.sampler = &sampler;
    Ask(&sampler, 0, false);
    for (uint64_t i = 0; i < 2000; i++) Ask(&sampler, i, false);
  }).join();
  EXPECT_GT(sampler.absent_count(), 0u);
}

}  // namespace
}  // namespace rocksieve
