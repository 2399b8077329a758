// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a ribbon filter block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/hash/hash_set.h"
#include "lib/ribbon/elimination.h"
#include "lib/ribbon/kernel.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

// Finds the length of every bucket, one after another, so that all equations can be solved.
// `offsets` become the first group of each bucket, and the number of groups; all equations have
// been added to `elimination`, which is new. The bucket of a hash is BucketIndex(hash, buckets).
// What is found depends on the set of hashes, the number of buckets (at least 2) and `thorough`
// only. False if there is no solution, which is so if a hash is there twice. The partition's order
// inside a bucket may change.
bool Steer(PartitionedHashes* partition, bool thorough, Elimination* elimination,
           std::vector<uint32_t>* offsets);

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
