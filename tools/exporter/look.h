// SPDX-License-Identifier: Apache-2.0
// One look at a database, with what it cost: all that `explain` and `doctor` find out, from files
// that are opened once.
#pragma once

#include <cstdint>
#include <string>

#include "support/progress.h"
#include "support/table.h"
#include "tools/doctor/checks.h"

namespace rocksieve::tools {

struct Look {
  std::string error;  // why the database cannot be looked at; empty: it can
  Json explanation;   // of `explain`
  Findings findings;  // of `doctor`
  // Whether the process that has the database open, if any, could be looked into as well.
  bool process_seen = false;

  double seconds = 0;
  uint64_t read_bytes = 0;   // asked of the system, cached there or not; 0 if it does not say
  double unix_time = 0;      // when it ended
  bool interrupted = false;  // by a signal: nothing of it counts
};

// Opens the database only to look, with a block cache of its own. Reads all filters, and a few
// thousand keys; never throws.
Look LookAt(const std::string& directory, Progress* progress);

}  // namespace rocksieve::tools
