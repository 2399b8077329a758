// What other filter policies would do on the tree that a database has.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "support/chart.h"
#include "support/progress.h"
#include "support/table.h"
#include "tools/whatif/curve.h"
#include "tools/whatif/prediction.h"
#include "tools/whatif/recommendation.h"

namespace rocksieve::tools {

struct WhatIfOptions {
  std::string database;
  std::vector<std::string> specs;
  std::vector<std::string> column_families;  // all, if empty
  std::string probes;                        // a file of missing keys; empty: made ones
  bool probes_are_hex = false;
  int least_bits = 6, most_bits = 20;  // per entry
  double read_us = 80;
};

// A policy on the tree.
struct PolicyResult {
  PolicySpec spec;
  Prediction prediction;
  double build_seconds = 0;
  double probe_ns = 0;
};

struct BudgetRow {
  int bits_per_entry = 0;
  double filter_bytes = 0;
  std::vector<double> reads;  // of each curve; negative if the family does not go there
};

struct WhatIfResult {
  PlannedTree tree;
  Prediction now;
  std::vector<PolicyResult> policies;  // as asked for
  std::vector<Curve> curves;
  std::vector<BudgetRow> budgets;
  Recommendation recommendation;
  std::vector<std::string> warnings;
};

// One result for each column family that has files.
rocksdb::Status RunWhatIf(const WhatIfOptions& options, Progress* progress,
                          std::vector<WhatIfResult>* results);

// Reads per missing key against memory, all families and the policies asked for.
Chart ReadsChart(const WhatIfOptions& options, const WhatIfResult& result);

// The document of docs/json.md.
Json WhatIfDocument(const WhatIfOptions& options, const std::vector<WhatIfResult>& results);

// That document in words, with a chart for each of its column families.
std::string WhatIfInWords(const WhatIfOptions& options, const std::vector<Chart>& charts,
                          const Json& document);

}  // namespace rocksieve::tools
