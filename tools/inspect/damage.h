// What is wrong with a damaged block, as far as its bytes tell.
#pragma once

#include <string>
#include <string_view>

#include "plugin/database/file_filter.h"

namespace rocksieve::tools {

// One line per mark or check that does not hold; of a block of ours.
std::string DescribeDamage(std::string_view block);

// The stored check word of a block of ours that is long enough to have one.
uint64_t StoredCheckWord(std::string_view block);

extern const char* const kDamageRemedy;

}  // namespace rocksieve::tools
