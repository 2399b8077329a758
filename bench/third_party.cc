// SPDX-License-Identifier: Apache-2.0
// third_party: filters of other authors beside ours, over the same hashes, in turns: bits, rates,
// times.
//
// Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters" (2022), in their
// single-header form. Dillinger, Huebschle-Schneider, Sanders, Walzer, "Fast Succinct Retrieval and
// Approximate Membership Using Ribbon" (2022), in the authors' implementation, with their presets
// for filters.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <binaryfusefilter.h>
#include <rocksieve/filter.h>
#include <ribbon.hpp>
#include <tlx/logger/core.hpp>

#include "bench/clock.h"
#include "bench/program.h"
#include "lib/filter/family.h"

namespace rocksieve::bench {
namespace {

using Hashes = std::vector<uint64_t>;

// One filter over a set. Queries go through a function of its own type, so that each can be inlined
// as its authors meant it to be.
struct ComparedFilter {
  std::string name;
  int bits;  // the rate is 2^-bits, nearly or exactly
  // Builds anew, replacing what was built before.
  void (*build)(const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits);
  // How many of the hashes may be contained.
  uint64_t (*count)(const void* filter, const Hashes& asked);
};

template <typename Filter, auto kAllocate, auto kPopulate, auto kContain, auto kSize, auto kFree>
ComparedFilter BinaryFuse(const char* name, int bits) {
  return {name, bits,
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* size) {
            std::shared_ptr<Filter> built(new Filter, [](Filter* old) {
              kFree(old);
              delete old;
            });
            Hashes scratch = keys;
            kAllocate(static_cast<uint32_t>(keys.size()), built.get());
            kPopulate(scratch.data(), static_cast<uint32_t>(scratch.size()), built.get());
            *size = 8 * kSize(built.get());
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            uint64_t found = 0;
            for (uint64_t hash : asked) found += kContain(hash, static_cast<const Filter*>(filter));
            return found;
          }};
}

// The authors' code tells of every step; nobody asked.
class Silence final : public tlx::LoggerOutputHook {
 public:
  void append_log_line(tlx::string_view) override {}
};

template <typename Config>
ComparedFilter BumpedRibbon(const char* name) {
  using Filter = ::ribbon::ribbon_filter<2, Config>;
  return {name, static_cast<int>(Config::kResultBits),
          [](const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits) {
            // Slots per key of the first layer, as the authors' example has it.
            constexpr double kSlotsPerKey = 0.965;
            const auto slots = static_cast<size_t>(kSlotsPerKey * static_cast<double>(keys.size()));
            auto built = std::make_shared<Filter>(slots, kSlotsPerKey, /*seed=*/42);
            built->AddRange(keys.begin(), keys.end());
            built->BackSubst();
            *bits = 8 * built->Size();
            *filter = built;
          },
          [](const void* filter, const Hashes& asked) {
            uint64_t found = 0;
            for (uint64_t hash : asked) {
              found += static_cast<const Filter*>(filter)->QueryFilter(hash);
            }
            return found;
          }};
}

struct Built {
  Payload payload;
  std::unique_ptr<rocksieve::Filter> filter;
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
            const rocksieve::Filter& own = *static_cast<const Built*>(filter)->filter;
            uint64_t found = 0;
            for (uint64_t hash : asked) found += own.MayContainHash(hash);
            return found;
          }};
}

std::vector<ComparedFilter> AllFilters() {
  static Silence silence;
  tlx::set_logger_output_hook(&silence);
  return {
      Own<Family::kRibbon, 8>("rocksieve.ribbon, 8 bits"),
      Own<Family::kRibbon, 16>("rocksieve.ribbon, 16 bits"),
      Own<Family::kCuckoo, 8>("rocksieve.cuckoo, 2^-8"),
      Own<Family::kBloom, 8>("rocksieve.bloom, 2^-8"),
      BinaryFuse<binary_fuse8_t, binary_fuse8_allocate, binary_fuse8_populate, binary_fuse8_contain,
                 binary_fuse8_size_in_bytes, binary_fuse8_free>("binary fuse, 8 bits", 8),
      BinaryFuse<binary_fuse16_t, binary_fuse16_allocate, binary_fuse16_populate,
                 binary_fuse16_contain, binary_fuse16_size_in_bytes, binary_fuse16_free>(
          "binary fuse, 16 bits", 16),
      BumpedRibbon<::ribbon::FastFilterConfig<8, uint64_t>>("bumped ribbon 64, 8 bits"),
      BumpedRibbon<::ribbon::CompactFilterConfig<8, uint64_t>>("bumped ribbon 128, 8 bits"),
      BumpedRibbon<::ribbon::FastFilterConfig<16, uint64_t>>("bumped ribbon 64, 16 bits")};
}

Hashes RandomHashes(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  Hashes hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

// What the rounds of a filter have come to; the least times.
struct Result {
  uint64_t bits = 0, asked = 0, passed = 0;
  double build_ns = 1e300, missing_ns = 1e300, present_ns = 1e300;
};

// Queries of other keys each round, so that no answer is learned.
void MeasureRound(uint64_t round, const ComparedFilter& measured, const Hashes& keys,
                  Result* result) {
  constexpr size_t kQueries = 2'000'000;
  const auto least = [](double* ns, auto work) {
    const double start = WallClock::Nanoseconds();
    work();
    *ns = std::min(*ns, WallClock::Nanoseconds() - start);
  };
  std::shared_ptr<void> filter;
  least(&result->build_ns, [&] { measured.build(keys, &filter, &result->bits); });
  const Hashes missing = RandomHashes(kQueries, 1000 + round);
  Hashes present(kQueries);
  std::mt19937_64 random(2000 + round);
  for (uint64_t& hash : present) hash = keys[random() % keys.size()];
  measured.count(filter.get(), missing);  // brings the filter to the caches
  uint64_t found = 0;
  least(&result->missing_ns, [&] { result->passed += measured.count(filter.get(), missing); });
  least(&result->present_ns, [&] { found = measured.count(filter.get(), present); });
  result->asked += kQueries;
  if (found != kQueries) throw std::runtime_error(measured.name + " has lost a key");
}

int Main(int, char**) {
  constexpr uint64_t kRounds = 7;
  using Kind = Column::Kind;
  Report report("third_party", "");
  const std::vector<ComparedFilter> filters = AllFilters();
  Table table = {.name = "third_parties",
                 .title = "THIRD PARTIES",
                 .explanation =
                     "The same random 64-bit hashes for all; hashes are given, nothing is hashed. "
                     "Bits of the filter itself; over: in percent over log2(1 / rate), which is 8 "
                     "or 16. Nanoseconds per key, least of " +
                     std::to_string(kRounds) + " rounds.",
                 .columns = {{"filter", "", "filter", Kind::kText},
                             {"bits_per_key", "", "bits/key", Kind::kFixed, 3},
                             {"rate", "", "rate, %", Kind::kPercent, 4},
                             {"over_percent", "", "over, %"},
                             {"build_ns", "", "build", Kind::kFixed, 1},
                             {"missing_ns", "", "missing", Kind::kFixed, 1},
                             {"present_ns", "", "present", Kind::kFixed, 1}}};
  for (const size_t count : {20'000, 1'000'000, 10'000'000}) {
    const Hashes keys = RandomHashes(count, 1);
    std::vector<Result> results(filters.size());
    for (uint64_t round = 0; round < kRounds; round++) {
      for (size_t i = 0; i < filters.size(); i++) {
        report.Begin(Counted(count, "key") + ", round " + std::to_string(round + 1) + ": " +
                     filters[i].name);
        MeasureRound(round, filters[i], keys, &results[i]);
      }
    }
    for (size_t i = 0; i < filters.size(); i++) {
      const Result& result = results[i];
      const double bits = static_cast<double>(result.bits) / static_cast<double>(count);
      const double queries = static_cast<double>(result.asked) / kRounds;
      table.rows.push_back(
          {{"group", Counted(count, "key")},
           {"filter", filters[i].name},
           {"bits_per_key", bits},
           {"rate", static_cast<double>(result.passed) / static_cast<double>(result.asked)},
           {"over_percent", 100 * (bits / filters[i].bits - 1)},
           {"build_ns", result.build_ns / static_cast<double>(count)},
           {"missing_ns", result.missing_ns / queries},
           {"present_ns", result.present_ns / queries}});
    }
  }
  report.Add(table);
  return report.Finish();
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  return rocksieve::bench::RunProgram("third_party", rocksieve::bench::Main, argc, argv);
}
