// The report for people.
#pragma once

#include <string>

#include "tools/explain/explanation.h"

namespace rocksieve::tools {

std::string TextReport(const Explanation& explanation);

}  // namespace rocksieve::tools
