// SPDX-License-Identifier: Apache-2.0
// Finds the length of every bucket, one after another, so that all equations can be solved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/hash/hash_set.h"
#include "lib/ribbon/equations.h"

namespace rocksieve::ribbon {

struct Steered {
  std::vector<uint32_t> offsets;  // first group of each bucket; the last is the number of groups
  Equations equations{0};
};

// The bucket of a hash is BucketIndex(hash, buckets). What is found depends on the set of hashes,
// the number of buckets (at least 2) and `thorough` only. False if there is no solution, which is
// so if a hash is there twice. The partition's order inside a bucket may change. Memory: 12 bytes
// per slot, and some 20 KiB.
bool Steer(PartitionedHashes* partition, bool thorough, Steered* steered);

// A bucket with more keys comes of keys that somebody chose: in random sets of any size that fits
// into a filter, the largest buckets have some 500.
inline constexpr size_t kMostKeysOfBucket = 1024;

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

}  // namespace rocksieve::ribbon
