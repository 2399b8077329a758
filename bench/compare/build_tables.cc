// SPDX-License-Identifier: Apache-2.0
// Times of building, and the memory that it takes; and times for each instruction set.
#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "bench/allocations.h"
#include "bench/compare/tables.h"
#include "bench/machine.h"
#include "lib/cpu/isa.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

// Those whose times are compared, and fast and thorough builds besides.
std::vector<Candidates> BuiltSeries(const Settings& settings) {
  if (!settings.specs.empty()) return TimedSeries(settings);
  return {MakeCandidates({"bloomfilter:10", "rocksieve.bloom:10", "rocksieve.bloom:10:fast",
                          "rocksieve.bloom:10:thorough"}),
          MakeCandidates({"bloomfilter:16", "rocksieve.bloom:16", "rocksieve.bloom:16:fast",
                          "rocksieve.bloom:16:thorough"}),
          MakeCandidates({"bloomfilter:20", "rocksieve.bloom:20", "rocksieve.bloom:20:fast"}),
          MakeCandidates({"ribbonfilter:0.1%", "rocksieve.ribbon:0.1%",
                          "rocksieve.ribbon:0.1%:thorough", "rocksieve.cuckoo:0.1%",
                          "rocksieve.cuckoo:0.1%:thorough", "rocksieve.bloom:0.1%",
                          "bloomfilter:0.1%"})};
}

// Small builds are too short to be timed one by one.
double NanosecondsPerKey(const Candidate& candidate, uint64_t keys) {
  constexpr uint64_t kKeysPerSample = 200'000;
  const uint64_t builds = std::max<uint64_t>(1, kKeysPerSample / keys);
  Stopwatch<CpuClock> watch;
  for (uint64_t i = 0; i < builds; i++) {
    const KeySet set(keys, i + 1);
    KeyChunk chunk(set);
    candidate.Build(&chunk, &watch);
  }
  return watch.TakeNanoseconds() / static_cast<double>(builds * keys);
}

struct TimedBuild {
  const Candidate* candidate;
  const Candidate* reference;
  std::vector<double> samples;
};

// Ratio over the built-in filter of the same line-up, if it has one.
void AddRatio(const char* field, const TimedBuild& build, bool ribbon,
              const std::vector<TimedBuild>& builds, nlohmann::json* row) {
  for (const TimedBuild& other : builds) {
    const Candidate& builtin = *other.candidate;
    if (other.reference == build.reference && !builtin.is_ours() && builtin.is_ribbon() == ribbon) {
      (*row)[field] = LeastOf(build.samples) / LeastOf(other.samples);
    }
  }
}

int RoundsFor(uint64_t keys, int rounds) {
  return keys <= 1'000'000 ? rounds : std::max(2, rounds / 3);
}

// What building takes beyond the block that comes out.
double ScratchBytes(const Candidate& candidate, const KeySet& keys) {
  KeyChunk chunk(keys);
  Stopwatch<CpuClock> unread;
  const AllocationCounter counter;
  const BuiltFilter filter = candidate.Build(&chunk, &unread);
  return static_cast<double>(counter.PeakBytes()) -
         static_cast<double>(AllocatedBytes(filter.memory.get()));
}

// The tables of a run with these kernels. A process chooses its kernels once, so each set gets a
// child process: this program again, with ROCKSIEVE_ISA in its environment.
nlohmann::json MeasureWithIsa(const std::string& isa, const Run& run) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  std::string command = "ROCKSIEVE_ISA=" + isa + " '" + program + "' --only=queries,builds";
  for (size_t i = 0; i < run.settings.isa_keys.size(); i++) {
    command += (i == 0 ? " --sizes=" : ",") + std::to_string(run.settings.isa_keys[i]);
  }
  const nlohmann::json report = ReportOf(command + run.arguments_for_children);
  if (report["machine"]["isa"] != isa) throw std::runtime_error("no kernels for " + isa);
  return report["tables"];
}

// The query row, and what the build row of the same filter and number of keys has besides.
nlohmann::json Joined(nlohmann::json row, const nlohmann::json& builds) {
  for (const nlohmann::json& build : builds) {
    if (build["filter"] != row["filter"] || build["keys"] != row["keys"]) continue;
    for (const auto& [field, value] : build.items()) row.emplace(field, value);
  }
  return row;
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
      run->Begin("builds: " + Counted(keys, "key") + ", round " + std::to_string(round + 1));
      for (TimedBuild& build : builds) {
        build.samples.push_back(NanosecondsPerKey(*build.candidate, keys));
      }
    }
    for (const TimedBuild& build : builds) {
      nlohmann::json row = {{"filter", build.candidate->spec()},
                            {"keys", keys},
                            {"group", Counted(keys, "key")},
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
        run->Begin("memory: " + candidate.spec() + ", " + Counted(keys, "key"));
        const double bytes = ScratchBytes(candidate, KeySet(keys, 1)) / static_cast<double>(keys);
        table.rows.push_back({{"filter", candidate.spec()},
                              {"keys", keys},
                              {"group", Counted(keys, "key")},
                              {"scratch_bytes_per_key", bytes}});
        // Every builder keeps the keys' hashes, so less means that they were not counted.
        if (bytes < 7) {
          run->Fail(candidate.spec() + ": the allocations of its library are not counted");
        }
      }
    }
  }
  return table;
}

Table MeasureIsas(Run* run) {
  Table table = {
      .name = "isas",
      .title = "TIMES BY INSTRUCTION SET",
      .explanation =
          "As in the tables of queries and of building; each ratio is over the same filter "
          "of RocksDB as there, measured in the same process. \"portable\" uses none.",
      .columns = {{"filter", "", "filter", Kind::kText},
                  {"isa", "", "kernels", Kind::kText},
                  {"missing_ns_min", "missing", "min", Kind::kFixed, 1},
                  {"missing_over_reference", "", "ratio"},
                  {"present_ns_min", "present", "min", Kind::kFixed, 1},
                  {"present_over_reference", "", "ratio"},
                  {"batch_ns_min", "batched", "min", Kind::kFixed, 1},
                  {"batch_over_reference", "", "ratio"},
                  {"missing_batch_over_single", "batch/single", "missing"},
                  {"present_batch_over_single", "", "present"},
                  {"build_ns_min", "build", "min", Kind::kFixed, 1},
                  {"build_over_bloomfilter", "over", "Bloom"},
                  {"build_over_ribbonfilter", "over", "Ribbon"}},
  };
  std::vector<nlohmann::json> rows;
  for (Isa isa : UsableIsas()) {
    const std::string name(IsaName(isa));
    run->Begin("instruction set " + name + ", in a process of its own");
    const nlohmann::json measured = MeasureWithIsa(name, *run);
    for (const nlohmann::json& row : measured["queries"]) {
      // RocksDB's filters do not depend on the variable.
      if (row["filter"].get<std::string>().rfind("rocksieve.", 0) != 0) continue;
      rows.push_back(Joined(row, measured["builds"]));
    }
    // Filters of fast builds are queried like others.
    for (const nlohmann::json& row : measured["builds"]) {
      const std::string filter = row["filter"];
      if (filter.find(":fast") != std::string::npos) rows.push_back(row);
    }
  }
  // Next to each other what is to be compared; the order of the instruction sets stays.
  const auto order = [](const nlohmann::json& row) {
    return std::pair(row["keys"].get<uint64_t>(), row["filter"].get<std::string>());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return order(a) < order(b); });
  for (nlohmann::json& row : rows) {
    row["part"] = row["filter"];
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace rocksieve::bench
