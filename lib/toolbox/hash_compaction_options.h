// Which options a table of hash compaction can have, and what it costs.
#pragma once

#include <cstdint>
#include <string>

#include "lib/toolbox/hash_compaction.h"

namespace rocksieve {

// The field, its range and the remedy; empty if all is well.
std::string WhatIsWrong(const HashCompactionOptions& options);

bool IsPrime(uint64_t n);

// The smallest prime that is at least n. REQUIRES: 2 <= n. Some ms at 2^40.
uint64_t PrimeFrom(uint64_t n);

}  // namespace rocksieve
