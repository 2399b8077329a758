// SPDX-License-Identifier: Apache-2.0
// What a page says of a join: its plan, or its bytes by step.
#pragma once

#include "tools/report/html.h"
#include "tools/report/join_file.h"

namespace rocksieve::tools {

// `number`: of the section, from 1.
Html JoinSection(size_t number, const JoinFile& file);

}  // namespace rocksieve::tools
