// The promise of the planner over a grid of sizes, overlaps and key shapes: never more than 1.10
// times the bytes of the best forced strategy, plus 20 KB, within the same limit on round trips.
// Every run is compared with std::set_intersection. Exits with 1 when the promise is broken, 3 when
// a result is wrong.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/join/grid_run.h"

namespace rocksieve::bench {
namespace {

struct Sizes {
  uint64_t client, server;
};

std::vector<Cell> CellsOf(bool quick, int round_trips, uint64_t seed) {
  const std::vector<Sizes> sizes =
      quick ? std::vector<Sizes>{{3000, 3000}, {40, 8000}, {8000, 40}}
            : std::vector<Sizes>{{200, 200000},   {2000, 200000}, {20000, 200000},
                                 {1000, 1000},    {30000, 30000}, {200000, 200000},
                                 {200000, 20000}, {200000, 2000}, {200000, 200}};
  const std::vector<double> overlaps =
      quick ? std::vector<double>{0, 50, 99, 100} : std::vector<double>{0, 1, 10, 50, 90, 99, 100};
  std::vector<Cell> cells;
  for (const KeyShape shape : kAllKeyShapes) {
    for (const Sizes& size : sizes) {
      for (const double overlap : overlaps) {
        cells.push_back({shape, size.client, size.server, overlap, round_trips, seed});
      }
    }
  }
  return cells;
}

nlohmann::ordered_json JsonOf(const Cell& cell, const CellOutcome& outcome) {
  nlohmann::ordered_json bytes, round_trips;
  for (const StrategyRun& run : outcome.runs) {
    bytes[std::string(NameOf(run.strategy))] = run.bytes;
    round_trips[std::string(NameOf(run.strategy))] = run.range_round_trips;
  }
  return {{"keys", NameOf(cell.shape)},
          {"asking_keys", cell.client},
          {"answering_keys", cell.server},
          {"overlap_percent", cell.overlap_percent},
          {"most_round_trips", cell.most_round_trips},
          {"bytes", bytes},
          {"round_trips", round_trips},
          {"keeps_promise", outcome.KeepsPromise()}};
}

int Main(int argc, char** argv) {
  bool quick = false;
  int round_trips = 4;
  uint64_t seed = 1;
  std::string json_path;
  CLI::App app("Whether the planner keeps up with the best forced strategy, over a grid.");
  app.add_flag("--quick", quick, "small sets: some seconds");
  app.add_option("--round-trips", round_trips, "at most, per range (4)")->check(CLI::Range(1, 100));
  app.add_option("--seed", seed, "of keys and salts (1)");
  std::string only;
  app.add_option("--only", only, "a shape of keys: random, dense-ids, uuids, paths (all)");
  app.add_option("--json", json_path, "a file for all bytes of all strategies");
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::printf("%-10s %8s %8s %8s %10s %3s  %-10s %10s %7s\n", "keys", "client", "server", "overlap",
              "auto bytes", "RTs", "best", "bytes", "ratio");
  int broken = 0;
  const std::vector<Cell> cells = CellsOf(quick, round_trips, seed);
  for (const Cell& cell : cells) {
    if (!only.empty() && NameOf(cell.shape) != only) continue;
    const CellOutcome outcome = RunCell(cell);
    const std::string shape(NameOf(cell.shape));
    if (!outcome.error.empty()) {
      std::fprintf(stderr, "join_grid: %s, %llu x %llu, %g %%: %s\n", shape.c_str(),
                   static_cast<unsigned long long>(cell.client),
                   static_cast<unsigned long long>(cell.server), cell.overlap_percent,
                   outcome.error.c_str());
      return 3;
    }
    const StrategyRun& chosen = outcome.runs.front();
    const StrategyRun& best = outcome.best_forced();
    const bool kept = outcome.KeepsPromise();
    broken += kept ? 0 : 1;
    std::printf(
        "%-10s %8llu %8llu %6g %% %10llu %3llu  %-10s %10llu %7.2f%s\n", shape.c_str(),
        static_cast<unsigned long long>(cell.client), static_cast<unsigned long long>(cell.server),
        cell.overlap_percent, static_cast<unsigned long long>(chosen.bytes),
        static_cast<unsigned long long>(chosen.range_round_trips),
        std::string(NameOf(best.strategy)).c_str(), static_cast<unsigned long long>(best.bytes),
        static_cast<double>(chosen.bytes) / static_cast<double>(best.bytes),
        kept ? "" : "  BROKEN");
    std::fflush(stdout);
    rows.push_back(JsonOf(cell, outcome));
  }
  if (!json_path.empty() && !(std::ofstream(json_path) << rows.dump(2) << "\n").flush()) {
    std::fprintf(stderr, "join_grid: cannot write %s\n", json_path.c_str());
    return 2;
  }
  std::printf("\n%zu cells, %d of them beyond 1.10 times the best forced strategy + 20 KB\n",
              rows.size(), broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) { return rocksieve::bench::Main(argc, argv); }
