// Queries the payload of a cuckoo filter block in place.
#pragma once

#include <memory>

#include <rocksieve/filter.h>

#include "lib/cuckoo/kernel.h"

namespace rocksieve::cuckoo {

// Takes a payload apart. False if it cannot have come from a builder. Reads only the block.
bool ParseTable(const FilterBlockInfo& info, Table* table);

// The share of all hashes that fall into shards which may contain every key.
double SaturatedFraction(const Table& table);

// Null if ParseTable() says no.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::cuckoo
