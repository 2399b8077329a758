// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a Bloom filter block, and queries it in place.
#pragma once

#include <cstddef>
#include <memory>

#include <rocksieve/filter.h>

#include "lib/bloom/kernel.h"
#include "lib/bloom/plan.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::bloom {

// Depends on the set of hashes and the plan only. Memory: 8 bytes per key, and up to 256 KiB.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel = ActiveKernel());

// Null if the payload cannot have come from a builder. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::bloom
