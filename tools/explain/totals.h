// Adds up what is known of files.
#pragma once

#include "tools/explain/explanation.h"

namespace rocksieve::tools {

// Fills in family->levels and family->totals from its tree and probes.
void AddUpLevels(FamilyExplanation* family);

}  // namespace rocksieve::tools
