// SPDX-License-Identifier: Apache-2.0
// What a server of joins has done, as metrics for Prometheus (docs/serve.md lists them).
#pragma once

#include <cstdint>
#include <vector>

#include <rocksieve/join/server.h>
#include <rocksieve/metrics.h>

namespace rocksieve::tools {

// Of certificates and tokens.
struct Reloads {
  uint64_t done = 0, failed = 0;
};

std::vector<Metric> MetricsOf(const join::ServerCounters& counters, const Reloads& reloads);

}  // namespace rocksieve::tools
