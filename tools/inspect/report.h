// The report for people.
#pragma once

#include <string>

#include "tools/inspect/inspection.h"

namespace rocksieve::tools {

std::string TextReport(const Inspection& inspection, bool hex);

}  // namespace rocksieve::tools
