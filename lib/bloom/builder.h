// Builds the payload of a Bloom filter block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/bloom/kernel.h"
#include "lib/bloom/plan.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::bloom {

// Writes PayloadBytes(plan) bytes to `payload`. They depend on the set of hashes and the plan only.
// Memory: 8 bytes per key, and up to 256 KiB.
void Build(HashList hashes, const Plan& plan, uint8_t* payload,
           const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::bloom
