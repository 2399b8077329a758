// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a ribbon filter block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/hash/hash_set.h"
#include "lib/ribbon/kernel.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// Rows that are left over from a bucket and find their slots in the next one: so many are aimed at.
// More leave fewer slots empty and make more lengths unsolvable.
inline constexpr int64_t kBacklog = 20;
// It becomes larger by each slot that stays empty in the bucket. A much larger one can leave no
// free slot where the first rows of the next bucket are, under any length of that: such a length of
// this one does not count as solvable.
inline constexpr int64_t kMostBacklog = 32;

// Lengths that a thorough build compares.
inline constexpr int kThoroughTries = 5;

// Lengths tried until a set of hashes is given up. Random sets have been seen to need 20.
inline constexpr int kMostTries = 200;

// Depends on the set of hashes and the plan only. Never fails: if the hashes, which somebody must
// have chosen then, cannot be solved under any of the reseeds, the payload is the one that means
// "may contain every key" (empty, parameter 0). Memory: 16 to 20 bytes per key.
Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::ribbon
