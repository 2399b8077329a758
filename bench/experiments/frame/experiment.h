// SPDX-License-Identifier: Apache-2.0
// What `./run experiments` is made of: functions that measure something which the literature has
// published, and return tables and pictures.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/table.h"

namespace rocksieve::experiments {

struct Settings {
  bool quick = false;     // smaller inputs, fewer repeats
  std::string directory;  // exists; for files that an experiment leaves or needs in between
  // A directory in which Node finds the npm packages of the published run; empty: do not run them.
  std::string npm_directory;
};

struct Run {
  Settings settings;
  Failures failures;  // sentences; one makes the program fail
  std::function<void(const std::string& step)> progress;
};

struct Picture {
  std::string name;  // of the file, without .svg
  std::string svg;
};

struct Outcome {
  std::vector<Table> tables;
  std::vector<Picture> pictures;
};

struct Experiment {
  const char* name;   // for --only, and in JSON
  const char* about;  // a line for --help
  Outcome (*measure)(Run* run);
};

// The experiments, each in the folder of its name; main.cc lists them.
Outcome MeasureHyphenation(Run* run);
Outcome MeasureQuality(Run* run);
Outcome MeasureOptimum(Run* run);
Outcome MeasureGrowth(Run* run);
Outcome MeasureNearDuplicates(Run* run);
Outcome MeasureSetOperations(Run* run);

}  // namespace rocksieve::experiments
