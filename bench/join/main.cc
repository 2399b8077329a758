// SPDX-License-Identifier: Apache-2.0
// What a join puts on the wire, beside other ways to the same answer. `./run bench join`.
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/join/figures.h"

namespace rocksieve::bench {
namespace {

constexpr struct {
  const char* name;
  Table (*measure)(FigureRun*);
  bool takes_long = false;  // and is printed where it is asked for
} kMeasurements[] = {{"overlaps", MeasureOverlaps},   {"differences", MeasureDifferences},
                     {"uneven", MeasureUnevenSides},  {"sizes", MeasureSizes},
                     {"threads", MeasureThreads},     {"link", MeasureLink},
                     {"grid", MeasureLinkGrid, true}, {"plans", MeasureBytePlans, true}};

struct Flags {
  FigureSettings settings;
  std::vector<std::string> only;
  std::string json, pictures;
  bool stages = false, allocations = false, prices = false;
};

int Measure(const Flags& flags) {
  FigureRun run("bench join", flags.json);
  run.settings = flags.settings;
  if (flags.prices) return PrintPrices(&run);
  if (flags.allocations) {
    run.Add(MeasureAllocations(&run));
  } else if (flags.stages) {
    run.Add(MeasureStages(&run));
  } else {
    for (const auto& [name, measure, takes_long] : kMeasurements) {
      if (!Wants(flags.only, name) || (takes_long && flags.only.empty())) continue;
      const Table table = measure(&run);
      run.Add(table);
      if (!flags.pictures.empty()) Draw(table, flags.pictures);
    }
  }
  return run.Finish("Every result was that of std::set_intersection.");
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Bytes and round trips of joins of random keys, in this process, beside other ways to the\n"
      "same answer. Every result is compared with that of std::set_intersection.\n",
      "bench join");
  app.add_flag("--quick", flags.settings.quick, "small sets, one run of each: some seconds");
  app.add_flag("--full", flags.settings.full, "up to 20 million keys, more overlaps: an hour");
  app.add_option("--seeds", flags.settings.seeds, "runs of each kind, with keys of their own [3]")
      ->check(CLI::Range(1, 1000));
  app.add_option("--keys", flags.settings.keys, "of a side, where a table is of one size [1000000]")
      ->check(CLI::Range(uint64_t{1000}, uint64_t{1} << 20));
  app.add_option("--overlaps", flags.settings.overlap_percents,
                 "percent of keys in common [0,10,50,90,98,99.9; --full: more]")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0));
  app.add_option(
         "--only", flags.only,
         "tables: overlaps, differences, uneven, sizes, threads, link; if named: grid, plans")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"overlaps", "differences", "uneven", "sizes", "threads", "link", "grid", "plans"}));
  app.add_flag("--stages", flags.stages, "where the CPU time goes, and nothing else");
  app.add_flag("--allocations", flags.allocations,
               "how often memory is allocated, and how much at once, and nothing else");
  app.add_flag("--prices", flags.prices,
               "what parts of a join take, as it stands in lib/join/matching/cost_model.cc, and "
               "nothing else; exit code 1 if it is off. --keys: of a range [125000]");
  app.add_option("--json", flags.json, "write all figures to FILE");
  app.add_option("--pictures", flags.pictures,
                 "draw the tables overlaps and differences: SVG files in this directory")
      ->check(CLI::ExistingDirectory);
  app.footer("Example: ./run bench join --only=overlaps --seeds=20 --pictures=.");
  CLI11_PARSE(app, argc, argv);
  flags.settings.overlaps_are_given = app.count("--overlaps") > 0;
  if (flags.settings.full && app.count("--overlaps") == 0) {
    flags.settings.overlap_percents = {0, 1, 10, 25, 50, 75, 90, 95, 98, 99, 99.9};
  }
  if (flags.settings.quick) {
    if (app.count("--keys") == 0) flags.settings.keys = 20'000;
    if (app.count("--seeds") == 0) flags.settings.seeds = 1;
  }
  if (flags.prices && app.count("--keys") == 0) flags.settings.keys = 125'000;
  return Measure(flags);
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) {
  using rocksieve::bench::RunProgram;
  return RunProgram("bench join", rocksieve::bench::Main, argc, argv);
}
