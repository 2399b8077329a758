// SPDX-License-Identifier: Apache-2.0
// What samplers make of the queries that they hear, without a database.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/perf_context.h>

#include "plugin/auto/lookup_record.h"
#include "plugin/auto/lookup_sampler.h"

namespace rocksieve {
namespace {

std::string NumberedKey(uint64_t number) { return "key" + std::to_string(1000000 + number); }

uint64_t HashOfNumber(uint64_t number) { return (number + 1) * 0x9E3779B97F4A7C15; }

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

TEST(LookupSampler, KeepsNoMoreThanItsSample) {
  LookupSampler sampler;
  for (uint64_t i = 0; i < 1000000; i++) LookUp(&sampler, i, false);
  EXPECT_EQ(sampler.absent_count(), 512u);
  const HeardLookups heard = sampler.Take();
  EXPECT_GT(std::set<std::string>(heard.absent_keys.begin(), heard.absent_keys.end()).size(), 500u);
  EXPECT_TRUE(sampler.Take().absent_keys.empty());
  sampler.Hear(std::string(1000, 'x'), 0, false);
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

TEST(LookupSampler, ThreadsMayAskAndTakeAtOnce) {
  LookupRecord record;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; !stop; i++) LookUp(record.sampler().get(), 3 * i + t, i % 4 == 0);
    });
  }
  for (int builder = 0; builder < 2; builder++) {
    threads.emplace_back([&] {
      const std::string first = NumberedKey(0), last = NumberedKey(8999999);
      const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
      while (std::chrono::steady_clock::now() < end) {
        record.CountBuilt(100);
        const auto density = record.Density({{first, last, 800, 800}});
        if (density != nullptr) EXPECT_GT(density->Between(first, last), 0);
      }
    });
  }
  for (size_t t = 3; t < threads.size(); t++) threads[t].join();
  stop = true;
  for (size_t t = 0; t < 3; t++) threads[t].join();
}

}  // namespace
}  // namespace rocksieve
