// SPDX-License-Identifier: Apache-2.0
// What a lookup of an absent key costs in a column family, and what it would cost with other
// policies: the curves of `whatif`.
#pragma once

#include <string>

#include "tools/report/gather.h"
#include "tools/report/html.h"
#include "tools/report/tree_picture.h"

namespace rocksieve::tools {

// `id`: of the section that it is part of.
Html CostSection(const std::string& id, const FamilyReport& family, const Colours& colours);

}  // namespace rocksieve::tools
