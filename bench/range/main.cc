// SPDX-License-Identifier: Apache-2.0
// range_gains: what range filters save in real trees, and what they cost. `./run bench ranges`.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/machine.h"
#include "bench/range/figures.h"

namespace rocksieve::bench {
namespace {

constexpr std::pair<const char*, Table (*)(RangeRun*)> kMeasurements[] = {
    {"entities", MeasureEntities},
    {"paths", MeasurePaths},
    {"mixes", MeasureMixes},
    {"rates", MeasureRangeRates},
    {"times", MeasureRangeTimes}};

struct Flags {
  RangeSettings settings;
  bool quick = false;
  std::vector<std::string> only;
  std::string json, work_dir;
};

int Measure(const Flags& flags) {
  const InterruptGuard guard;
  const std::unique_ptr<WorkDir> work = NewWorkDir(flags.work_dir, "range_gains");
  RangeRun run("bench ranges", flags.json);
  run.settings = flags.settings;
  run.settings.directory = work->path().string();
  run.document["machine"] = DescribeMachine();
  std::cout << ForPeople(run.document["machine"]) << std::flush;
  const std::string unfit = WhyNotToMeasure();
  if (!unfit.empty()) std::cerr << "bench ranges: times mean nothing: " << unfit << "\n";
  for (const auto& [name, measure] : kMeasurements) {
    if (Wants(flags.only, name)) run.Add(measure(&run));
  }
  return run.Finish("Every answer was right.");
}

void MakeQuick(RangeSettings* settings) {
  settings->entity_keys = 20'000;
  settings->path_keys = 10'000;
  settings->range_queries = settings->gets = 500;
  settings->uniform_keys = {2'000, 20'000};
  settings->timestamps = 5'000;
  settings->mix_keys = 5'000;
  settings->mix_queries = 2'000;
  settings->rate_queries = 2'000;
  settings->build_rounds = settings->query_rounds = 2;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Data blocks that iterators and lookups read with range filters, with RocksDB's prefix "
      "Bloom\n"
      "filters, with a ribbon filter and with none, on trees of the same keys and operations; and\n"
      "sizes, false positives and times of range filters alone. Exit code 1: an answer was "
      "wrong.\n",
      "bench ranges");
  app.add_flag("--quick", flags.quick,
               "small trees, few queries, only to see that it works: seconds");
  app.add_option("--only", flags.only, "tables: entities, paths, mixes, rates, times")
      ->delimiter(',')
      ->check(CLI::IsMember({"entities", "paths", "mixes", "rates", "times"}));
  app.add_option(
      "--keys", flags.settings.path_file,
      "for the table of paths, lines of FILE (-: the standard input) instead of made paths");
  app.add_option("--json", flags.json, "write all figures to FILE");
  app.add_option("--work-dir", flags.work_dir, "where databases are built [a temporary directory]");
  app.footer("Example: find /usr -type f | ./run bench ranges --only=paths --keys=-");
  CLI11_PARSE(app, argc, argv);
  if (flags.quick) MakeQuick(&flags.settings);
  return Measure(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench ranges", rocksieve::bench::Main, argc, argv);
}
