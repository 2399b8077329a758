// SPDX-License-Identifier: Apache-2.0
// Ranges of keys in which a column family has none, where its data is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rocksdb/status.h>

#include "plugin/database/database.h"
#include "plugin/database/file_filter.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve {

// How long ranges are.
struct RangeKind {
  // All keys with a beginning of `length` bytes that no key has. Else so many consecutive numbers,
  // as the last eight bytes of a key count: half of these ranges begin right after a key, where
  // seeks go on, the others anywhere between two.
  bool is_prefix = false;
  uint64_t length = 0;
};

// Of each kind, up to `count` ranges; fewer, or none, where keys are too close together. The same
// for the same tree. Reads some thousand keys of the database, and advances by one for each.
// REQUIRES: the order of keys is bytewise.
rocksdb::Status MakeEmptyRanges(const Database& database, size_t family, const Tree& tree,
                                const std::vector<RangeKind>& kinds, uint64_t count,
                                Progress* progress, std::vector<std::vector<EmptyRange>>* ranges);

// The lengths of prefixes that filters of the tree have, ascending.
std::vector<uint64_t> PrefixLengths(const Tree& tree);

// A key as a number, of its last eight bytes, the first one most significant: adds to it. False,
// and the key is as it was, if there is no such key of its length.
bool AddToKey(uint64_t number, std::string* key);

// The first key behind all that begin with the prefix. False if there is none.
bool EndOfPrefix(std::string* prefix);

}  // namespace rocksieve
