// SPDX-License-Identifier: Apache-2.0
// compare: measures rocksieve's filters and RocksDB's in turns, through the interfaces that RocksDB
// itself calls, prints tables and writes all figures to a file.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "bench/compare/machine.h"
#include "bench/compare/tables.h"
#include "bench/program.h"

namespace rocksieve::bench {
namespace {

// What the program tells its caller; --help documents the same numbers.
enum ExitCode : int {
  kDone = 0,
  kCheckFailed = 1,  // a rate is off its model, or a key was lost
  kCannotRun = 2,    // bad usage, or something in the way
  kUnfitBuild = 3,   // see WhyNotToMeasure()
};

constexpr struct {
  const char* name;
  Table (*measure)(Run* run);
} kMeasurements[] = {
    {"rates", MeasureRates},     {"sizes", MeasureSizes},     {"small", MeasureSmall},
    {"queries", MeasureQueries}, {"lengths", MeasureLengths}, {"cold", MeasureCold},
    {"builds", MeasureBuilds},   {"memory", MeasureMemory},   {"isas", MeasureIsas}};

void Print(const Table& table, Progress* progress) {
  progress->Clear();
  std::cout << "\n" << ForPeople(table) << std::flush;
}

// Better to fail now than after ten minutes.
void CheckWritable(const std::string& path) {
  const std::string tried = path + ".unfinished";
  const std::ofstream file(tried);
  std::remove(tried.c_str());
  if (!file) throw std::runtime_error("cannot write " + path + "; choose another with --json=FILE");
}

int MeasureAll(const Flags& flags) {
  const auto start = std::chrono::steady_clock::now();
  const nlohmann::json machine = DescribeMachine();
  nlohmann::json report = {{"machine", machine}};
  CheckWritable(flags.json);
  std::cout << ForPeople(machine);

  Run run;
  run.settings = flags.settings;
  run.arguments_for_children = flags.arguments_for_children;
  std::vector<Table> tables;
  for (const auto& [name, measure] : kMeasurements) {
    if (!run.settings.Wants(name)) continue;
    tables.push_back(measure(&run));
    Print(tables.back(), &run.progress);
  }
  if (run.settings.Wants("targets") && run.settings.specs.empty()) {
    tables.push_back(CompareWithTargets(tables));
    Print(tables.back(), &run.progress);
  }

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const Table& table : tables) report["tables"][table.name] = table.rows;
  report["failures"] = run.failures;
  report["seconds"] = seconds.count();
  WriteFile(flags.json, report.dump(1) + "\n");
  run.progress.Clear();
  std::cout << "\nTook " << Significant(seconds.count(), 3)
            << " s. All figures: " << ShortPath(flags.json) << "\n";
  for (const std::string& failure : run.failures) std::cout << "FAILED: " << failure << "\n";
  return run.failures.empty() ? kDone : kCheckFailed;
}

int Main(int argc, char** argv) {
  Flags flags;
  if (ReadFlags(argc, argv, &flags) == Asked::kNothing) return kDone;
  const std::string unfit = WhyNotToMeasure();
  if (!unfit.empty()) {
    std::cerr << "compare: " << unfit << "\n";
    return kUnfitBuild;
  }
  const int exit_code = MeasureAll(flags);
  if (std::cout.flush()) return exit_code;
  std::cerr << "compare: cannot write to the standard output\n";
  return kCannotRun;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("compare", rocksieve::bench::Main, argc, argv);
}
