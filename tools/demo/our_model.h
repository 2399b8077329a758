// The rates that rocksieve promises for its filters.
#pragma once

#include <cstdint>

#include <rocksieve/filter_spec.h>

#include "tools/demo/file_rate.h"

namespace rocksieve::tools {

// The rate of the filter that the spec gives a file with so many keys. It has a variance if
// the family's filters consist of lines.
FileRate OurRate(const FilterSpec& spec, uint64_t keys, uint64_t filter_bytes);

}  // namespace rocksieve::tools
