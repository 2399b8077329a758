// SPDX-License-Identifier: Apache-2.0
// What a counter costs a query: why FilterStats has none (docs/decisions/plugin.md).
//
// Prints nanoseconds per query of a Bloom filter that is in the processor's caches, by one thread
// and by two: the slower thread, the quickest of nine rounds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <rocksieve/filter.h>

namespace rocksieve {
namespace {

constexpr int kKeys = 100000, kQueries = 2000000, kRounds = 9;

std::atomic<uint64_t> shared_counter{0};
thread_local uint64_t own_counter = 0;

template <typename Count>
double NsPerQuery(const Filter& filter, const std::vector<uint64_t>& hashes, size_t threads,
                  Count count) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; round++) {
    std::vector<double> ns(threads);
    std::vector<std::thread> running;
    for (size_t i = 0; i < threads; i++) {
      running.emplace_back([&, i] {
        const Clock::time_point start = Clock::now();
        uint64_t passed = 0;
        for (const uint64_t hash : hashes) {
          passed += filter.MayContainHash(hash) ? 1 : 0;
          count();
        }
        const std::chrono::duration<double, std::nano> time = Clock::now() - start;
        ns[i] = time.count() / kQueries;
        asm volatile("" : : "r"(passed));  // the queries cannot be left out
      });
    }
    for (std::thread& thread : running) thread.join();
    best = std::min(best, *std::max_element(ns.begin(), ns.end()));
  }
  return best;
}

void Run() {
  FilterSpec spec;
  FilterSpec::Parse("rocksieve.bloom:10", &spec);
  FilterBuilder builder(spec);
  for (int i = 0; i < kKeys; i++) builder.AddKey("key" + std::to_string(i));
  const FilterBlock block = builder.Finish();
  const OpenedFilter opened = OpenFilter(block.view());
  std::vector<uint64_t> hashes;
  for (int i = 0; i < kQueries; i++) {
    hashes.push_back(opened.filter->KeyHash("missing" + std::to_string(i)));
  }
  std::printf("threads  no counter  atomic, shared  one per thread\n");
  for (const size_t threads : {1, 2}) {
    const double none = NsPerQuery(*opened.filter, hashes, threads, [] {});
    const double shared = NsPerQuery(*opened.filter, hashes, threads, [] {
      shared_counter.fetch_add(1, std::memory_order_relaxed);
    });
    const double own = NsPerQuery(*opened.filter, hashes, threads, [] {
      own_counter++;
      asm volatile("" : : "m"(own_counter));
    });
    std::printf("%7zu  %10.1f  %14.1f  %14.1f\n", threads, none, shared, own);
  }
}

}  // namespace
}  // namespace rocksieve

int main() { rocksieve::Run(); }
