// SPDX-License-Identifier: Apache-2.0
// The tables of `./run bench join`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/program.h"

namespace rocksieve::bench {

struct FigureSettings {
  uint64_t keys = 1'000'000;  // of a side
  uint64_t seeds = 3;         // runs, of which the median and the worst are shown
  std::vector<double> overlap_percents = {0, 10, 50, 90, 98, 99.9};
  bool overlaps_are_given = false;  // else a table may have others
  bool quick = false, full = false;
};

struct FigureRun : Report {
  using Report::Report;
  FigureSettings settings;
};

Table MeasureOverlaps(FigureRun* run);
Table MeasureDifferences(FigureRun* run);
Table MeasureUnevenSides(FigureRun* run);
Table MeasureSizes(FigureRun* run);
Table MeasureThreads(FigureRun* run);
Table MeasureLink(FigureRun* run);

// Printed where it is asked for.
Table MeasureBytePlans(FigureRun* run);  // plans where bytes alone count, beside fixed strategies
Table MeasureLinkGrid(FigureRun* run);   // plans for links, likewise, in time
// What joins take of the allocator.
Table MeasureAllocations(FigureRun* run);
// Where the CPU time goes: by what each side hears, and says to that, nanoseconds per key of one
// side.
Table MeasureStages(FigureRun* run);

// Prints what parts of a join take with the active kernels, in ranges of FigureSettings::keys keys,
// as it stands in lib/join/matching/cost_model.cc, beside what stands there: the least of
// FigureSettings::seeds rounds. 1 if some of it is off by more than 30 %, else 0.
int PrintPrices(FigureRun* run);

// Draws a table that has a picture, as an SVG file in the directory.
void Draw(const Table& table, const std::string& directory);

// The first column of most tables.
inline const Column kOverlap = {"overlap_percent", "over-", "lap, %",
                                Column::Kind::kSignificant, 3};

}  // namespace rocksieve::bench
