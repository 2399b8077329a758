// Runs of one kind with different seeds.
#pragma once

#include <cstdint>
#include <string>

#include "bench/join/figures.h"
#include "bench/join/session_run.h"

namespace rocksieve::bench {

struct Circumstances {
  uint64_t client = 0, server = 0, common = 0;
  SessionSettings session;  // its seed is replaced

  uint64_t Differences() const { return client + server - 2 * common; }
};

struct Runs {
  double median_bytes = 0, worst_bytes = 0;
  double median_round_trips = 0, worst_round_trips = 0;
  double median_cpu_seconds = 0;
  double median_link_seconds = 0;
  uint64_t repeated_ranges = 0;  // of all runs
};

// Of FigureSettings::seeds runs, each with keys of its own. What went wrong is in run->failures.
Runs MeasureRuns(const Circumstances& circumstances, FigureRun* run);

// "1,000,000 x 10,000 keys"
std::string NameOf(const Circumstances& circumstances);

}  // namespace rocksieve::bench
