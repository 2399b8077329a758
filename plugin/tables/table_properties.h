// Reads the block in which a table file describes itself.
#pragma once

#include <string_view>

#include <rocksdb/status.h>

#include "plugin/tables/table_file.h"

namespace rocksieve {

rocksdb::Status ParseProperties(std::string_view block, TableProperties* properties);

}  // namespace rocksieve
