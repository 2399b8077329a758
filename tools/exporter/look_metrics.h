// SPDX-License-Identifier: Apache-2.0
// Looks as metrics: docs/metrics.md has them all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rocksieve/metrics.h>

#include "tools/exporter/look.h"

namespace rocksieve::tools {

// What is known of one database.
struct WatchedDatabase {
  std::string directory;                    // as the user named it: the label db
  std::optional<Look> last;                 // nothing yet
  bool looking = false;                     // just now
  uint64_t looks = 0, failed_looks = 0;     // since the exporter began
  double look_seconds = 0, read_bytes = 0;  // of all of them
};

std::vector<Metric> MetricsOf(const std::vector<WatchedDatabase>& databases,
                              double seconds_between_looks);

}  // namespace rocksieve::tools
