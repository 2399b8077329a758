// From a database that is looked at to a tree that predictions can be made for.
#pragma once

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "tools/whatif/tree.h"

namespace rocksieve::tools {

// `tree`: what ReadTree() made of a column family of the database. Where lookups go is left open:
// see lookups.h.
PlannedTree PlanTree(const Database& database, const Tree& tree);

}  // namespace rocksieve::tools
