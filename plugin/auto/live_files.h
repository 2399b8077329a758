// The live files of a database, as it lists them itself.
#pragma once

#include <rocksdb/db.h>

#include "plugin/auto/live_file_registry.h"

namespace rocksieve {

// Brings the registry in accord with the database. Must be called where RocksDB allows calls, which
// it does in the events that bring a DB*, and without any lock. Reads the properties of files that
// are not known yet, of at most some thousand of them; the others are taken to be like these.
void Resync(rocksdb::DB* db, LiveFileRegistry* registry);

}  // namespace rocksieve
