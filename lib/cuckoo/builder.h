// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a cuckoo filter block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/cuckoo/plan.h"
#include "lib/hash/hash_set.h"

namespace rocksieve::cuckoo {

// Depends on the set of hashes and the plan only. Never fails: a shard that cannot be filled grows
// by 1/4, 1/2, 1 .. percent and tries again, and after kMaxRetries is stored as "may contain every
// key". Memory: 8 bytes per key.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room);

// The last retry has six times the slots that a shard should need.
inline constexpr int kMaxRetries = 10;

}  // namespace rocksieve::cuckoo
