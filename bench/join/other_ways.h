// SPDX-License-Identifier: Apache-2.0
// What else could be done, run beside the join on the same keys.
#pragma once

#include <cstdint>

#include "bench/join/key_set.h"

namespace rocksieve::bench {

// The keys themselves, front-coded and compressed with zstd.
uint64_t ShippedBytes(const Keys& keys);

struct BloomJoin {
  uint64_t bytes = 0;
  uint64_t false_positives = 0;
};

// As in textbooks: the smaller side sends a Bloom filter of 10 bits per key with 7 probes, the
// other one ships all of its keys that pass; the first one then knows the matched keys.
BloomJoin RunBloomJoin(const KeySets& sets);

}  // namespace rocksieve::bench
