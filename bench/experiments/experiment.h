// SPDX-License-Identifier: Apache-2.0
// What `./run experiments` is made of: functions that measure something which the literature has
// published, and add tables and pictures to a report.
#pragma once

#include <string>
#include <vector>

#include "bench/program.h"
#include "support/chart.h"

namespace rocksieve::experiments {

using bench::Table;

struct Settings {
  bool quick = false;     // smaller inputs, fewer repeats
  std::string directory;  // exists; for files that an experiment leaves or needs in between
};

struct Run : bench::Report {
  explicit Run(const Settings& its)
      : Report("experiments", its.directory + "/experiments.json"), settings(its) {}
  // As NAME.svg beside the report.
  void Draw(const std::string& name, const Chart& chart) {
    bench::WriteFile(settings.directory + "/" + name + ".svg", SvgDrawing(chart));
  }

  const Settings settings;
};

// The experiments; main.cc lists them.
void MeasureQuality(Run* run);
void MeasureOptimum(Run* run);
void MeasureGrowth(Run* run);
void MeasureSetOperations(Run* run);

// Real keys, the words of Debian's wamerican-insane: in lower case, in the order of the file, with
// the duplicates that this makes; all are shorter than 64 bytes. Throws std::runtime_error that
// names the package.
std::vector<std::string> InsaneWords();
// Without duplicates, in an order that is random but always the same.
std::vector<std::string> ShuffledDistinctWords();

}  // namespace rocksieve::experiments
