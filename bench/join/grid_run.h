// One cell of the grid: the same join with the planner's choice and with each strategy forced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/join/grid_keys.h"
#include "lib/join/matching/strategy.h"

namespace rocksieve::bench {

struct Cell {
  KeyShape shape = KeyShape::kRandom;
  uint64_t client = 0, server = 0;  // keys
  double overlap_percent = 0;       // of the smaller side
  int most_round_trips = 4;
  uint64_t seed = 1;
};

struct StrategyRun {
  join::Strategy strategy = join::Strategy::kAuto;
  uint64_t bytes = 0;  // of messages, rows apart
  uint64_t range_round_trips = 0;
};

struct CellOutcome {
  std::string error;              // of the first run whose result is not what sets say
  std::vector<StrategyRun> runs;  // auto first
  const StrategyRun& best_forced() const;
  // The promise: never more than 1.10 times the best forced strategy and 20 KB.
  bool KeepsPromise() const;
};

CellOutcome RunCell(const Cell& cell);

}  // namespace rocksieve::bench
