// Where lookups of missing keys go in a tree.
#pragma once

#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/tree.h"
#include "support/progress.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// Fills in PlannedFile::meets and prefix_present, but for files that cannot be read. Sorts the
// keys. `planned`: the files of `tree`, in the same order. Advances by one per file.
rocksdb::Status PlaceLookups(const Tree& tree, std::vector<std::string>* missing_keys,
                             Progress* progress, PlannedTree* planned);

}  // namespace rocksieve::tools
