// SPDX-License-Identifier: Apache-2.0
// All that a page says of a database, which is what `explain`, `whatif` and `doctor` find out, and
// the page: one document, without scripts and without anything from elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "support/chart.h"
#include "support/progress.h"
#include "support/table.h"
#include "tools/doctor/checks.h"
#include "tools/report/html.h"

namespace rocksieve::tools {

inline constexpr size_t kMostFamilies = 20;  // that have a section

struct FamilyReport {
  Json explained;              // of `explain`
  Json predicted;              // of `whatif`; null if it cannot tell
  std::optional<Chart> chart;  // likewise
  std::string why_not;         // it cannot tell
};

struct DatabaseReport {
  std::string directory;
  std::vector<FamilyReport> families;  // with files: the largest, in the order of the database
  std::vector<std::string> left_out;   // smaller ones with files
  std::vector<std::string> empty;      // without files
  uint64_t write_ahead_log_bytes = 0;
  Findings findings;
  std::string options_file, log_file;  // that `doctor` looked at; empty if there are none
  int open_in_process = 0;             // 0 if none is seen
  bool process_seen = false;           // `doctor` could look into it

  bool damaged() const;
};

// Opens the database only to look. `column_families`: all if empty. `specs`: further policies, for
// `whatif`. Aborted if interrupted.
rocksdb::Status Gather(const std::string& directory,
                       const std::vector<std::string>& column_families,
                       const std::vector<std::string>& specs, Progress* progress,
                       DatabaseReport* report);

// What a page says of a column family: its tree, rates, what a lookup costs and would cost.
// `number`: of the section, from 1.
Html FamilySection(size_t number, const FamilyReport& family);

struct PageFacts {
  std::optional<DatabaseReport> database;
  std::vector<JoinFile> joins;
  int64_t unix_time = 0;  // when it was made
};

std::string Page(const PageFacts& facts);

}  // namespace rocksieve::tools
