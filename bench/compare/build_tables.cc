// SPDX-License-Identifier: Apache-2.0
// Times of building, and the memory that it takes.
#include <algorithm>
#include <memory>

#include "bench/compare/allocations.h"
#include "bench/compare/clock.h"
#include "bench/compare/machine.h"
#include "bench/compare/tables.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

// From the making of the builder until it is gone, with its keys in order, but without the time
// that it takes to make the keys.
double BuildNanoseconds(const Candidate& candidate, const KeySet& keys) {
  KeyChunk chunk(keys);
  Stopwatch<CpuClock> watch;
  watch.Start();
  auto builder = candidate.NewBuilder();
  watch.Stop();
  AddAllKeys(
      &chunk, builder.get(), [&] { watch.Start(); }, [&] { watch.Stop(); });
  std::unique_ptr<const char[]> memory;
  watch.Start();
  builder->Finish(&memory);
  builder.reset();
  watch.Stop();
  return watch.TakeNanoseconds();
}

// Small builds are too short to be timed one by one.
double NanosecondsPerKey(const Candidate& candidate, uint64_t keys) {
  constexpr uint64_t kKeysPerSample = 200'000;
  const uint64_t builds = std::max<uint64_t>(1, kKeysPerSample / keys);
  double sum = 0;
  for (uint64_t i = 0; i < builds; i++) sum += BuildNanoseconds(candidate, KeySet(keys, i + 1));
  return sum / static_cast<double>(builds * keys);
}

struct TimedBuild {
  const Candidate* candidate;
  const Candidate* reference;
  std::vector<double> samples;
  double least() const { return Summarize(samples).min; }
};

// Ratio over the built-in filter of the same line-up, if it has one.
void AddRatio(const char* field, const TimedBuild& build, bool ribbon,
              const std::vector<TimedBuild>& builds, nlohmann::json* row) {
  for (const TimedBuild& other : builds) {
    const Candidate& builtin = *other.candidate;
    if (other.reference == build.reference && !builtin.is_ours() && builtin.is_ribbon() == ribbon) {
      (*row)[field] = build.least() / other.least();
    }
  }
}

int RoundsFor(uint64_t keys, int rounds) {
  return keys <= 1'000'000 ? rounds : std::max(2, rounds / 3);
}

// What building takes beyond the block that comes out.
double ScratchBytes(const Candidate& candidate, const KeySet& keys) {
  KeyChunk chunk(keys);
  AllocationCounter counter;
  const auto builder = candidate.NewBuilder();
  AddAllKeys(&chunk, builder.get());
  std::unique_ptr<const char[]> memory;
  builder->Finish(&memory);
  return static_cast<double>(counter.PeakBytes()) -
         static_cast<double>(AllocatedBytes(memory.get()));
}

}  // namespace

Table MeasureBuilds(Run* run) {
  Table table = {
      .name = "builds",
      .title = "BUILDING",
      .explanation =
          "CPU nanoseconds per key of 16 bytes, in order, hashing included, over the rounds. "
          "Over Bloom, over Ribbon: ratio of the least times, over RocksDB's filter in the "
          "same group. Spread: distance of the quartiles over the median.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"build_ns_min", "", "min", Kind::kFixed, 1},
                  {"build_ns_median", "", "median", Kind::kFixed, 1},
                  {"build_spread_percent", "spread", "%", Kind::kFixed, 0},
                  {"build_over_bloomfilter", "over", "Bloom"},
                  {"build_over_ribbonfilter", "over", "Ribbon"}},
  };
  const std::vector<Candidates> series = BuiltSeries(run->settings);
  for (uint64_t keys : run->settings.build_keys) {
    std::vector<TimedBuild> builds;
    for (const Candidates& candidates : series) {
      for (const Candidate& candidate : candidates)
        builds.push_back({&candidate, &candidates[0], {}});
    }
    for (int round = 0; round < RoundsFor(keys, run->settings.build_rounds); round++) {
      run->progress.Begin("builds: " + KeysHeading(keys) + ", round " + std::to_string(round + 1));
      for (TimedBuild& build : builds) {
        build.samples.push_back(NanosecondsPerKey(*build.candidate, keys));
      }
    }
    for (const TimedBuild& build : builds) {
      nlohmann::json row = {{"filter", build.candidate->spec()},
                            {"keys", keys},
                            {"group", KeysHeading(keys)},
                            {"part", build.reference->spec()},
                            {"isa", ActiveIsaName()}};
      AddTimes("build", build.samples, &row);
      AddRatio("build_over_bloomfilter", build, /*ribbon=*/false, builds, &row);
      AddRatio("build_over_ribbonfilter", build, /*ribbon=*/true, builds, &row);
      table.rows.push_back(row);
    }
  }
  return table;
}

Table MeasureMemory(Run* run) {
  Table table = {
      .name = "memory",
      .title = "MEMORY WHILE BUILDING",
      .explanation =
          "Bytes per key that are allocated at the worst moment, beyond the finished block.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"scratch_bytes_per_key", "bytes", "per key", Kind::kFixed, 1}},
  };
  for (uint64_t keys : run->settings.memory_keys) {
    for (const Candidates& candidates : BuiltSeries(run->settings)) {
      for (const Candidate& candidate : candidates) {
        run->progress.Begin("memory: " + candidate.spec() + ", " + KeysHeading(keys));
        const double bytes = ScratchBytes(candidate, KeySet(keys, 1)) / static_cast<double>(keys);
        table.rows.push_back({{"filter", candidate.spec()},
                              {"keys", keys},
                              {"group", KeysHeading(keys)},
                              {"scratch_bytes_per_key", bytes}});
        // Every builder keeps the keys' hashes, so less means that they were not counted.
        if (bytes < 7) {
          run->failures.push_back(candidate.spec() +
                                  ": the allocations of its library are not counted");
        }
      }
    }
  }
  return table;
}

}  // namespace rocksieve::bench
