// SPDX-License-Identifier: Apache-2.0
// What a page says of a column family: its tree, rates, what a lookup costs and would cost.
#pragma once

#include "tools/report/gather.h"
#include "tools/report/html.h"

namespace rocksieve::tools {

// `number`: of the section, from 1.
Html FamilySection(size_t number, const FamilyReport& family);

// "L0", or what stands in the field if it is text.
std::string LevelName(const Json& level);

}  // namespace rocksieve::tools
