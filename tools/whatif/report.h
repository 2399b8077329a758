// The results of whatif for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "support/chart.h"
#include "tools/whatif/whatif.h"

namespace rocksieve::tools {

std::string TextReport(const WhatIfOptions& options, const std::vector<WhatIfResult>& results);

// One JSON document; the man page explains its keys.
std::string JsonReport(const WhatIfOptions& options, const std::vector<WhatIfResult>& results);

// Reads per missing key against memory, all families and the policies asked for.
Chart ReadsChart(const WhatIfOptions& options, const WhatIfResult& result);

}  // namespace rocksieve::tools
