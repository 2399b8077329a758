// SPDX-License-Identifier: Apache-2.0
// What filters of other policies would do for iterators over ranges that hold no key.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/policy_spec.h"
#include "plugin/database/tree.h"
#include "support/progress.h"
#include "support/table.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// Begin and end, which is not part of it.
using KeyRanges = std::vector<std::pair<std::string, std::string>>;

// From a file of lines "BEGIN<TAB>END", with the escapes of joins' text; - is the standard input.
// Of very many, a part of them, evenly spread.
rocksdb::Status ReadKeyRanges(const std::string& path, KeyRanges* ranges);

// The "ranges" of docs/json.md: for ranges of the user's own, or for such like the data if there
// are none, under no filter, rocksieve.range with several amounts of memory, and those of `specs`
// that answer for ranges. Builds filters from some keys of some files, one file after the other.
// Null, and a warning, if nothing can be said.
rocksdb::Status CompareForRanges(const Database& database, size_t family, const Tree& tree,
                                 const PlannedTree& planned, const std::vector<PolicySpec>& specs,
                                 const KeyRanges& own, Progress* progress, Json* document,
                                 std::vector<std::string>* warnings);

}  // namespace rocksieve::tools
