// A whole row in the value of another one, whose key is an attribute of it:
//
//   varint length of the key | key | value
#pragma once

#include <string>
#include <string_view>

#include "lib/join/rows/source.h"

namespace rocksieve::join {

// Replaces *packed.
void PackRow(const Row& row, std::string* packed);

// The views point into `packed`. False if it is no packed row.
bool UnpackRow(std::string_view packed, Row* row);

}  // namespace rocksieve::join
