// The report for people.
#pragma once

#include <string>

#include "tools/demo/result.h"

namespace rocksieve::tools {

// What was compared, the table, what was saved, and how to turn the plugin on. At most 100 columns
// wide, but for long paths.
std::string TextReport(const DemoResult& result);

}  // namespace rocksieve::tools
