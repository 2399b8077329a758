// SPDX-License-Identifier: Apache-2.0
// The tables of `./run bench join`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/join/matching/planner.h"
#include "support/table.h"

namespace rocksieve::bench {

struct FigureSettings {
  uint64_t keys = 1'000'000;  // of a side
  uint64_t seeds = 3;         // runs, of which the median and the worst are shown
  uint64_t first_seed = 1;    // of the first run
  std::vector<double> overlap_percents = {0, 10, 50, 90, 98, 99.9};
  bool overlaps_are_given = false;  // else a table may have others
  bool quick = false, full = false;
  join::Strategy strategy = join::Strategy::kAuto;
};

// What they share while they are measured.
struct FigureRun {
  FigureSettings settings;
  Failures failures;                                      // wrong results, by their circumstances
  std::function<void(const std::string& step)> progress;  // of what takes long
};

Table MeasureOverlaps(FigureRun* run);
Table MeasureDifferences(FigureRun* run);
Table MeasureUnevenSides(FigureRun* run);
Table MeasureSizes(FigureRun* run);
Table MeasureThreads(FigureRun* run);
Table MeasureLink(FigureRun* run);

// Printed where it is asked for.
Table MeasureAllocations(FigureRun* run);
Table MeasureBytePlans(FigureRun* run);  // plans where bytes alone count, beside fixed strategies
Table MeasureLinkGrid(FigureRun* run);   // plans for links, likewise, in time

// Bits against overlap, from the rows of MeasureOverlaps(), and bytes against differences, from
// those of MeasureDifferences(): SVG documents.
std::string OverlapPicture(const Table& overlaps);
std::string DifferencePicture(const Table& differences);
std::string LinkPicture(const Table& grid);

}  // namespace rocksieve::bench
