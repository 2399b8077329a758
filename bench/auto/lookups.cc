#include "bench/auto/lookups.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

namespace rocksieve::bench {
namespace {

constexpr uint64_t kStride = 7919;  // a prime: visits every number in an order without pattern

uint64_t Ask(rocksdb::DB* db, std::string (*key_of)(uint64_t), uint64_t numbers, uint64_t count,
             bool fill_cache) {
  rocksdb::ReadOptions read;
  read.fill_cache = fill_cache;
  std::string value;
  uint64_t found = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (db->Get(read, key_of(i * kStride % numbers), &value).ok()) found++;
  }
  return found;
}

Lookups LookUp(rocksdb::DB* db, std::string (*key_of)(uint64_t), bool present, uint64_t numbers,
               uint64_t count) {
  Lookups result;
  result.lookups = count;
  rocksdb::PerfContext& perf = *rocksdb::get_perf_context();
  rocksdb::SetPerfLevel(rocksdb::kEnableCount);
  perf.Reset();
  // Blocks are not kept, so that each one needed counts as a read.
  const uint64_t found = Ask(db, key_of, numbers, count, /*fill_cache=*/false);
  const auto lookups = static_cast<double>(count);
  const uint64_t reads =
      perf.block_read_count - perf.index_block_read_count - perf.filter_block_read_count;
  result.useless_reads = (static_cast<double>(reads) - (present ? lookups : 0)) / lookups;
  result.filter_probes =
      static_cast<double>(perf.bloom_sst_hit_count + perf.bloom_sst_miss_count) / lookups;
  result.wrong = present ? count - found : found;
  return result;
}

}  // namespace

Lookups LookUpMissing(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, MissingKey, false, numbers, count);
}

Lookups LookUpMissingNearby(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, NarrowMissingKey, false, numbers, count);
}

Lookups LookUpPresent(rocksdb::DB* db, uint64_t numbers, uint64_t count) {
  return LookUp(db, PresentKey, true, numbers, count);
}

double TimeMissing(rocksdb::DB* db, uint64_t numbers) {
  constexpr int kRounds = 5;
  constexpr uint64_t kTimed = 40000;
  rocksdb::SetPerfLevel(rocksdb::kDisable);
  Ask(db, MissingKey, numbers, kTimed, true);
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; round++) {
    const auto start = std::chrono::steady_clock::now();
    Ask(db, MissingKey, numbers, kTimed, true);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    rounds.push_back(time.count() / static_cast<double>(kTimed));
  }
  std::sort(rounds.begin(), rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace rocksieve::bench
