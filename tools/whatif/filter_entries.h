// How many keys and prefixes a filter of a file would hold.
#pragma once

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// Fills in PlannedFile::filter_keys: from the filter that the file has, if a new one would hold the
// same; else from its number of entries and, if prefixes are filtered, from some of its keys.
// `planned`: the files of `tree`, in the same order.
void CountFilterEntries(const Tree& tree, PlannedTree* planned);

}  // namespace rocksieve::tools
