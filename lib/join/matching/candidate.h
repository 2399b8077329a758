// A key of a range that may still be common to both sides, by its hash.
//
// Keys are hashed once per range and attempt, to 128 bits under a salt that both sides know; each
// message then hashes these anew under a salt of its own, so that an accident in one message does
// not repeat itself in the next.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/hash/key_hash128.h"

namespace rocksieve::join {

struct Candidate {
  KeyHash128 hash;
  uint32_t ordinal;  // of the key among the side's distinct keys in the range
};

using Candidates = std::vector<Candidate>;  // by rising ordinal

}  // namespace rocksieve::join
