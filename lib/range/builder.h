// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a range filter block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/format/payload.h"
#include "lib/hash/hash_set.h"
#include "lib/range/cells.h"
#include "lib/range/plan.h"

namespace rocksieve::range {

struct Request {
  Options options;
  bool is_partition = false;   // keys of the same file are in other filters
  bool answers_ranges = true;  // false: a part of whole keys is all there is
  bool thorough = false;       // as of Budget
  uint64_t salt = 0;
  double bits = 0;  // of the whole payload
};

// Depends on the set of keys and the request only. REQUIRES: keys are sorted and not empty. Memory:
// up to 24 bytes per key.
Payload Build(const KeyList& keys, const Request& request, size_t head_room, size_t tail_room);

// Of hashes of whole keys, which are all that is known: answers no ranges.
Payload BuildOfHashes(HashList hashes, const Request& request, size_t head_room, size_t tail_room);

}  // namespace rocksieve::range
