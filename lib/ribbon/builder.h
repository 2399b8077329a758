// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a ribbon filter block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/hash/hash_set.h"
#include "lib/ribbon/kernel.h"
#include "lib/ribbon/plan.h"

namespace rocksieve::ribbon {

// Depends on the set of hashes and the plan only. Never fails: if the hashes, which somebody must
// have chosen then, cannot be solved under any of the reseeds, the payload is the one that means
// "may contain every key" (empty, parameter 0). Memory: 16 to 20 bytes per key.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::ribbon
