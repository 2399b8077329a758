// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a range filter block: which parts it has, and how they share its bits.
//
// A part answers for one way to look at a key: the whole key, its first bytes, or its place among
// its neighbours. A part of `entries` entries, which is asked with the weight q for c places at a
// time, is wrong with probability c * 2^-w at w bits per entry. At the least sum of q c 2^-w under
// a sum of entries * w, w is log2(q c / entries), but for a constant: the bits are shared so
// (Lagrange; every part has the same gain per bit). Of numbers, an order makes keys superfluous but
// is wrong more often about them; if it is known what is asked, the better of both is taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/format/payload.h"
#include "lib/hash/hash_set.h"
#include "lib/range/cells.h"

namespace rocksieve::range {

// The values are stored in filter blocks.
enum class PartKind : uint8_t {
  kPrefixes = 1,  // a ribbon of the cells at a depth
  kOrder = 2,     // the cells at a depth in an order that keeps neighbours together
  kKeys = 3,      // a ribbon of whole keys
};

inline constexpr size_t kMaxPrefixLengths = 4;

struct Options {
  // Ascending, in bytes, 1 to kMaxDepth; 0 behind the last one. None: chosen from the keys.
  std::array<uint8_t, kMaxPrefixLengths> prefix_lengths{};
  // The depth of the part that knows the order; 0: no such part; -1: chosen from the keys.
  int order_depth = -1;
  // What was asked so far; nothing: as many lookups as ranges are assumed, and prefixes.
  QueryMix mix;
};

struct PartPlan {
  PartKind kind = PartKind::kKeys;
  size_t depth = 0;  // 0 for kKeys
  uint64_t entries = 0;
  double bits = 0;  // of the part
};

// Prefixes from the shortest to the longest, then the order, then keys. At least one of the latter
// two. REQUIRES: keys are sorted and not empty.
std::vector<PartPlan> PlanParts(const KeyList& keys, const Options& options, double bits);

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
