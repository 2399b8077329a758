// From a database that is looked at to a tree that predictions can be made for.
#pragma once

#include <rocksdb/status.h>

#include "database/database.h"
#include "database/tree.h"
#include "whatif/tree.h"

namespace rocksieve::tools {

// `family`: its place in the database's column families; `tree`: what ReadTree() made of it.
rocksdb::Status PlanTree(const Database& database, size_t family, const Tree& tree,
                         PlannedTree* planned);

}  // namespace rocksieve::tools
