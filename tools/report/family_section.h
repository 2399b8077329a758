// SPDX-License-Identifier: Apache-2.0
// What a page says of a column family: its tree, rates, what a lookup costs and would cost.
#pragma once

#include <string>

#include "tools/report/gather.h"
#include "tools/report/html.h"
#include "tools/report/tree_picture.h"

namespace rocksieve::tools {

// What a lookup of an absent key costs in a column family, and what it would cost with other
// policies: the curves of `whatif`.

// `id`: of the section that it is part of.
Html CostSection(const std::string& id, const FamilyReport& family, const Colours& colours);

// `number`: of the section, from 1.
Html FamilySection(size_t number, const FamilyReport& family);

// "L0", or what stands in the field if it is text.
std::string LevelName(const Json& level);

}  // namespace rocksieve::tools
