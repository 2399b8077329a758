// SPDX-License-Identifier: Apache-2.0
// third_party: filters of other authors beside ours, over the same hashes, in turns.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <rocksieve/filter.h>

#include "bench/third_party/third_party.h"
#include "lib/filter/family.h"

namespace rocksieve::bench {
namespace {

struct Built {
  Payload payload;
  std::unique_ptr<Filter> filter;
};

// `kBits` is the logarithm of one over the rate.
template <Family kFamily, int kBits>
ComparedFilter Own(const char* name) {
  return {name, kBits,
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits) {
            const FamilyEntry& family = *FindFamily(kFamily);
            const HashList list(keys.begin(), keys.end());
            Budget budget;
            budget.is_rate = true;
            budget.amount = 1.0 / static_cast<double>(uint64_t{1} << kBits);
            constexpr size_t kTailBytes = 32;  // readers may look past the payload
            auto built = std::make_shared<Built>();
            built->payload = family.build(list, budget, 0, kTailBytes);
            FilterBlockInfo info;
            info.family = kFamily;
            info.key_count = keys.size();
            info.parameter = built->payload.parameter;
            info.payload = {built->payload.data.get(), built->payload.size};
            built->filter = family.open(info);
            *bits = 8 * built->payload.size;
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            const Filter& own = *static_cast<const Built*>(filter)->filter;
            uint64_t found = 0;
            for (uint64_t hash : asked) found += own.MayContainHash(hash);
            return found;
          }};
}

std::vector<ComparedFilter> OwnFilters() {
  return {Own<Family::kRibbon, 8>("rocksieve.ribbon, 8 bits"),
          Own<Family::kRibbon, 16>("rocksieve.ribbon, 16 bits"),
          Own<Family::kCuckoo, 8>("rocksieve.cuckoo, 2^-8"),
          Own<Family::kBloom, 8>("rocksieve.bloom, 2^-8")};
}

Hashes RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Hashes hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

class Stopwatch {
 public:
  double NanosecondsPer(size_t count) const {
    const std::chrono::duration<double, std::nano> passed = Clock::now() - start_;
    return passed.count() / static_cast<double>(count);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct Row {
  std::string name;
  int rate_bits;
  uint64_t filter_bits = 0;
  uint64_t asked = 0, passed = 0;
  double build_ns = 1e9, missing_ns = 1e9, present_ns = 1e9;  // least of the rounds, per key
};

// Queries in batches of other keys each round, so that no answer is learned.
void MeasureRound(int round, const ComparedFilter& measured, const Hashes& keys, Row* row) {
  std::shared_ptr<void> filter;
  const Stopwatch building;
  measured.build(keys, &filter, &row->filter_bits);
  row->build_ns = std::min(row->build_ns, building.NanosecondsPer(keys.size()));

  constexpr size_t kQueries = 2'000'000;
  const Hashes missing = RandomHashes(kQueries, 1000 + static_cast<uint64_t>(round));
  Hashes present(kQueries);
  std::mt19937_64 random(2000 + static_cast<uint64_t>(round));
  for (uint64_t& hash : present) hash = keys[random() % keys.size()];
  measured.count(filter.get(), missing);  // brings the filter to the caches

  const Stopwatch asking_missing;
  const uint64_t passed = measured.count(filter.get(), missing);
  row->missing_ns = std::min(row->missing_ns, asking_missing.NanosecondsPer(kQueries));
  row->asked += kQueries;
  row->passed += passed;
  const Stopwatch asking_present;
  const uint64_t found = measured.count(filter.get(), present);
  row->present_ns = std::min(row->present_ns, asking_present.NanosecondsPer(kQueries));
  if (found != kQueries) {
    std::fprintf(stderr, "third_party: %s has lost a key\n", measured.name.c_str());
    std::exit(1);
  }
}

void Print(const std::vector<Row>& rows, size_t keys) {
  std::printf("\n%zu keys\n%-28s %9s %8s %9s %9s %9s %9s\n", keys, "filter", "bits/key", "rate, %",
              "over, %", "build", "missing", "present");
  for (const Row& row : rows) {
    const double bits = static_cast<double>(row.filter_bits) / static_cast<double>(keys);
    std::printf("%-28s %9.3f %8.4f %9.2f %9.1f %9.1f %9.1f\n", row.name.c_str(), bits,
                100.0 * static_cast<double>(row.passed) / static_cast<double>(row.asked),
                100 * (bits / row.rate_bits - 1), row.build_ns, row.missing_ns, row.present_ns);
  }
}

}  // namespace
}  // namespace rocksieve::bench

int main() {
  using namespace rocksieve::bench;
  constexpr int kRounds = 7;
  std::vector<ComparedFilter> filters = OwnFilters();
  for (const auto& more : {BinaryFuseFilters(), BumpedRibbonFilters()}) {
    filters.insert(filters.end(), more.begin(), more.end());
  }
  std::printf(
      "THIRD PARTIES\nThe same random 64-bit hashes for all; hashes are given, nothing is hashed. "
      "Bits of "
      "the filter\nitself; over: in percent over log2(1 / rate), which is 8 or 16. Nanoseconds per "
      "key, least of %d\nrounds.\n",
      kRounds);
  for (size_t count : {20'000, 1'000'000, 10'000'000}) {
    const Hashes keys = RandomHashes(count, 1);
    std::vector<Row> rows;
    for (const ComparedFilter& one : filters)
      rows.push_back({.name = one.name, .rate_bits = one.bits});
    for (int round = 0; round < kRounds; round++) {
      for (size_t i = 0; i < filters.size(); i++) {
        if (isatty(2))
          std::fprintf(stderr, "\r\033[K%zu keys, round %d: %s", count, round + 1,
                       filters[i].name.c_str());
        MeasureRound(round, filters[i], keys, &rows[i]);
      }
    }
    if (isatty(2)) std::fprintf(stderr, "\r\033[K");
    Print(rows, count);
  }
}
