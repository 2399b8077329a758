// Reads the block in which a table file describes itself.
#pragma once

#include <string_view>

#include <rocksdb/status.h>

#include "database/table_file.h"

namespace rocksieve::tools {

rocksdb::Status ParseProperties(std::string_view block, TableProperties* properties);

}  // namespace rocksieve::tools
