// A block of hashes: what all builders end in, and what is built of sets that never were keys.
#pragma once

#include <cstdint>

#include <rocksieve/filter.h>

#include "lib/format/budget.h"
#include "lib/format/key_range.h"
#include "lib/hash/hash_set.h"

namespace rocksieve {

// What the spec allows the filter, times `factor`.
Budget BudgetOf(const FilterSpec& spec, double factor);

// The block of these hashes, which were made with `salt`. REQUIRES: the spec is valid.
FilterBlock BuildBlock(const FilterSpec& spec, double factor, HashList hashes, uint64_t salt,
                       const KeyRange& range);

// The same of hashes that the caller has made, instead of keys; the block has no range keys. Ask it
// with Filter::MayContainHash. The spec must not be salted.
FilterBlock BuildFilterOfHashes(const FilterSpec& spec, HashList hashes);

}  // namespace rocksieve
