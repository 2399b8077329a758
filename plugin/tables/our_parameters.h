// What a block of ours says of how it was built.
#pragma once

#include <cstdint>
#include <string>

#include <rocksieve/filter.h>

namespace rocksieve {

// "rocksieve.bloom"
std::string OurFamilyName(Family family);

// "8 probes, 157 lines of 64 bytes"
std::string OurParameters(const FilterBlockInfo& info);

}  // namespace rocksieve
