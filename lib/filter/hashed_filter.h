// A filter of hashes that the caller has made, instead of keys: for sets that never were keys of
// the block's own hash.
#pragma once

#include <rocksieve/filter.h>

#include "lib/hash/hash_set.h"

namespace rocksieve {

// As FilterBuilder, with the hashes given; the block has no range keys. Ask it with
// Filter::MayContainHash. The spec must not be salted.
FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes);

}  // namespace rocksieve
