// Which options a cuckoo filter can have; for what makes one and for what reads one.
#pragma once

#include <string>

#include <rocksieve/dynamic/cuckoo_filter_options.h>

namespace rocksieve {

// The field, its range and the remedy; empty if all is well.
std::string WhatIsWrong(const CuckooFilterOptions& options);

}  // namespace rocksieve
