// SPDX-License-Identifier: Apache-2.0
// What iterators over ranges without keys read in a column family.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "support/progress.h"
#include "support/table.h"

namespace rocksieve::tools {

// Lengths, as "16,256,4096"; empty: these. InvalidArgument for anything else.
rocksdb::Status ParseRangeLengths(const std::string& text, std::vector<uint64_t>* lengths);

// The "ranges" of docs/json.md: for ranges of these lengths, and for absent prefixes of the lengths
// that filters have. Nothing, and a note that says why, where the order of keys is not bytewise.
rocksdb::Status ExplainRanges(const Database& database, size_t family, const Tree& tree,
                              const std::vector<uint64_t>& lengths, Progress* progress,
                              Json* ranges, std::vector<std::string>* notes);

}  // namespace rocksieve::tools
