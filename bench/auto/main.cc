// SPDX-License-Identifier: Apache-2.0
// auto_gains: what rocksieve.auto saves in real trees, beside uniform filters of RocksDB that take
// the same memory.
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/auto/gain.h"
#include "bench/program.h"
#include "support/progress.h"
#include "support/text.h"
#include "support/work_dir.h"

namespace rocksieve::bench {
namespace {

nlohmann::json ForPrograms(const Lookups& lookups) {
  return {{"lookups", lookups.lookups},
          {"useless_reads_per_lookup", lookups.useless_reads},
          {"filter_probes_per_lookup", lookups.filter_probes}};
}

nlohmann::json ForPrograms(const Measured& measured) {
  return {{"policy", measured.policy},
          {"entries", measured.memory.entries},
          {"files", measured.memory.files},
          {"filter_bytes", measured.memory.filter_bytes},
          {"bits_per_entry", measured.memory.bits()},
          {"files_per_level", measured.files_per_level},
          {"build_seconds", measured.build_seconds},
          {"in_memory_ns_per_missing_lookup", measured.in_memory_ns},
          {"modelled_ns_per_missing_lookup", measured.modelled_ns},
          {"missing", ForPrograms(measured.missing)},
          {"missing_in_a_sixteenth_of_the_key_space", ForPrograms(measured.nearby)},
          {"present", ForPrograms(measured.present)}};
}

std::string PerThousand(const Lookups& lookups) { return Fixed(1000 * lookups.useless_reads, 3); }

std::string ForPeople(const std::vector<Gain>& gains) {
  std::vector<std::vector<std::string>> rows = {
      {"tree", "budget", "bits per", "reads/1000", "missing:", "", "ratio to", "", "reads/1000",
       "present:", "", "ns/miss", "in memory:", ""},
      {"", "", "entry", "auto", "Bloom", "Ribbon", "Bloom", "Ribbon", "auto", "Bloom", "Ribbon",
       "auto", "Bloom", "Ribbon"}};
  for (const Gain& gain : gains) {
    rows.push_back({gain.shape.description, Fixed(gain.budget, 1),
                    Fixed(gain.automatic.memory.bits(), 2), PerThousand(gain.automatic.missing),
                    PerThousand(gain.bloom.missing), PerThousand(gain.ribbon.missing),
                    Fixed(gain.of_bloom(), 3), Fixed(gain.of_ribbon(), 3),
                    PerThousand(gain.automatic.present), PerThousand(gain.bloom.present),
                    PerThousand(gain.ribbon.present), Fixed(gain.automatic.in_memory_ns, 0),
                    Fixed(gain.bloom.in_memory_ns, 0), Fixed(gain.ribbon.in_memory_ns, 0)});
  }
  return AlignedTable(rows);
}

// Beside the families of ours.
std::string ForPeopleBesideOwn(const std::vector<Gain>& gains) {
  std::vector<std::vector<std::string>> rows = {
      {"tree", "budget", "bits per", "reads/1000", "best alone,", "bits per", "reads/1000",
       "ratio"},
      {"", "", "entry", "missing", "in the budget", "entry", "missing", ""}};
  for (const Gain& gain : gains) {
    const Measured& best = *gain.best_own();
    rows.push_back({gain.shape.description, Fixed(gain.budget, 1),
                    Fixed(gain.automatic.memory.bits(), 3), PerThousand(gain.automatic.missing),
                    best.policy, Fixed(best.memory.bits(), 3), PerThousand(best.missing),
                    Fixed(gain.of_best_own(), 3)});
  }
  return AlignedTable(rows);
}

nlohmann::json ForPrograms(const std::vector<Gain>& gains) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Gain& gain : gains) {
    if (gain.best_own() != nullptr) {
      nlohmann::json own = nlohmann::json::array();
      for (const Measured& alone : gain.own) own.push_back(ForPrograms(alone));
      rows.push_back({{"tree", gain.shape.name},
                      {"budget_bits_per_entry", gain.budget},
                      {"keys", gain.shape.keys},
                      {"useless_reads_ratio_to_best", gain.of_best_own()},
                      {"auto", ForPrograms(gain.automatic)},
                      {"families", own}});
      continue;
    }
    rows.push_back({{"tree", gain.shape.name},
                    {"budget_bits_per_entry", gain.budget},
                    {"keys", gain.shape.keys},
                    {"useless_reads_ratio_to_bloom", gain.of_bloom()},
                    {"useless_reads_ratio_to_ribbon", gain.of_ribbon()},
                    {"auto", ForPrograms(gain.automatic)},
                    {"bloom", ForPrograms(gain.bloom)},
                    {"ribbon", ForPrograms(gain.ribbon)}});
  }
  return rows;
}

struct Flags {
  bool full = false, smoke = false, check = false;
  double scale = 0;
  uint64_t lookups = 0;
  std::vector<double> budgets;
  std::vector<std::string> trees;
  std::string options, json, work_dir;
  bool no_listener = false, own = false;
};

// What the documentation promises at 10 bits; and beside families of ours, with room for the noise
// of some 10,000 reads.
constexpr double kMostOfBestOwn = 1.04;
bool IsAsPromised(const Gain& gain) {
  if (gain.best_own() != nullptr) return gain.of_best_own() <= kMostOfBestOwn;
  return gain.budget != 10 || (gain.of_bloom() <= gain.shape.most_of_bloom &&
                               gain.of_ribbon() <= gain.shape.most_of_ribbon);
}

void WriteJson(const std::string& path, const std::vector<Gain>& gains) {
  WriteFile(path, nlohmann::json({{"gains", ForPrograms(gains)}}).dump(1) + "\n");
}

int Measure(const Flags& flags) {
  Progress progress("bench auto");
  const InterruptGuard guard;
  std::unique_ptr<WorkDir> work;
  const rocksdb::Status status = WorkDir::Create(flags.work_dir, "auto_gains", &work);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  GainOptions options;
  options.extra = flags.options.empty() ? "" : ":" + flags.options;
  options.listener = !flags.no_listener;
  options.lookups = flags.lookups;
  options.own_families = flags.own;
  std::vector<Gain> gains;
  bool as_promised = true;
  for (const Shape& shape : Shapes(flags.scale)) {
    if (!Wants(flags.trees, shape.name)) continue;
    for (const double budget : flags.budgets) {
      const auto begin = [&](const std::string& step, uint64_t keys) {
        progress.Begin(step, keys);
      };
      const auto advance = [&](uint64_t keys) {
        if (!progress.Advance(keys)) throw std::runtime_error("interrupted");
      };
      gains.push_back(MeasureGain(shape, budget, options, work->path().string(), begin, advance));
      as_promised = as_promised && IsAsPromised(gains.back());
      if (!flags.json.empty()) WriteJson(flags.json, gains);  // so that no measurement is lost
    }
  }
  progress.Clear();
  std::cout << (flags.own ? ForPeopleBesideOwn(gains) : ForPeople(gains));
  if (flags.check && !as_promised) {
    std::cout << "FAILED: a gain is smaller than promised\n";
    return 1;
  }
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Useless data-block reads of rocksieve.auto beside uniform Bloom and Ribbon filters of\n"
      "RocksDB that take the same memory, on trees of the same keys and operations, by RocksDB's\n"
      "own counters.\n",
      "bench auto");
  app.add_flag("--full", flags.full, "budgets 6 to 16, and more lookups: half an hour");
  app.add_flag("--smoke", flags.smoke, "tiny trees, only to see that it works");
  app.add_flag("--check", flags.check, "exit with 1 if a gain at 10 bits is not as promised");
  app.add_option("--trees", flags.trees,
                 "only these: ratio_10_live, ratio_10, ratio_4_live, ratio_4, universal, one_run")
      ->delimiter(',');
  app.add_option("--bits", flags.budgets, "budgets, bits per live entry [10]")->delimiter(',');
  app.add_option("--options", flags.options, "of the spec, such as read-ns-200000");
  app.add_flag("--no-listener", flags.no_listener, "by the policy's own history");
  app.add_flag("--own", flags.own,
               "beside each family of rocksieve alone, in the memory of the budget");
  app.add_option("--scale", flags.scale, "times the usual 300,000 to 900,000 keys [1]");
  app.add_option("--lookups", flags.lookups, "of missing keys per tree [1000000]");
  app.add_option("--json", flags.json, "write all figures to FILE");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: ./run bench auto --trees=ratio_10_live,one_run --bits=8,10,12");
  CLI11_PARSE(app, argc, argv);
  if (flags.budgets.empty()) {
    flags.budgets =
        flags.full ? std::vector<double>{6, 8, 10, 12, 14, 16} : std::vector<double>{10};
  }
  if (flags.scale == 0) flags.scale = flags.smoke ? 0.02 : 1;
  if (flags.lookups == 0) flags.lookups = flags.smoke ? 5000 : flags.full ? 4000000 : 1000000;
  return Measure(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench auto", rocksieve::bench::Main, argc, argv);
}
