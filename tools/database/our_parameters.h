// What a block of ours says of how it was built.
#pragma once

#include <cstdint>
#include <string>

#include <rocksieve/filter.h>

namespace rocksieve::tools {

// "rocksieve.bloom"
std::string OurFamilyName(Family family);

// "8 probes, 157 lines of 64 bytes"
std::string OurParameters(const FilterBlockInfo& info);

// How full the table is: the share of probe bits that are set (Bloom), of slots that hold a key
// (cuckoo), keys over slots (ribbon). Looks at the whole payload. 0 for no keys.
double OurFill(const FilterBlockInfo& info);

// "of the probe bits are set" and the like: what OurFill() is a share of.
std::string OurFillMeaning(Family family);

}  // namespace rocksieve::tools
