// SPDX-License-Identifier: Apache-2.0
// What a comparison of databases has found (DiffDatabases()), for people and for scripts.
#pragma once

#include <string>

#include "support/table.h"

namespace rocksieve::tools {

std::string DiffInWords(const Json& document);

// 0 if nothing differs for good, 1 if something does, 2 if something could not be read: as diff(1).
int DiffExitCode(const Json& document);

}  // namespace rocksieve::tools
