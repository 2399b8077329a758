// SPDX-License-Identifier: Apache-2.0
// Places all over the data of a column family, the keys there, and ranges between them that hold
// none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/iterator.h>
#include <rocksdb/status.h>

#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve {

using Random = std::mt19937_64;

// How many bytes two keys have in common at their fronts.
size_t CommonBytes(std::string_view a, std::string_view b);

// A key between two others, at random; `low` if there is none that differs from both. Bytewise.
std::string KeyBetween(std::string_view low, std::string_view high, Random* random);

// Over all keys in order, whatever filters there are; of the newest timestamps. REQUIRES: their
// order is known here.
class AllKeys {
 public:
  AllKeys(const Tree& tree);
  AllKeys(const AllKeys&) = delete;
  AllKeys& operator=(const AllKeys&) = delete;

  rocksdb::Iterator* operator->() const { return keys_.get(); }
  rocksdb::Iterator* get() const { return keys_.get(); }

 private:
  const std::string latest_;
  const rocksdb::Slice timestamp_;  // a view of it
  std::unique_ptr<rocksdb::Iterator> keys_;
};

// Moves `keys` to about `count` places, and calls `take` at each with the number of pairs of
// neighbours to be read from there on: of small trees, all from the first key. Not OK if the data
// cannot be read. REQUIRES: its order is known here.
rocksdb::Status VisitPlaces(const Tree& tree, uint64_t count, rocksdb::Iterator* keys,
                            Random* random, const std::function<void(uint64_t pairs)>& take);

// Ranges of one kind.
struct EmptyRanges {
  // All keys with a beginning of `length` bytes that no key has. Else so many consecutive numbers,
  // as the last eight bytes of a key count: half of these ranges begin right after a key, where
  // seeks go on, the others anywhere between two.
  bool is_prefix = false;
  uint64_t length = 0;
  std::vector<EmptyRange> ranges;

  const char* kind() const { return is_prefix ? "prefix" : "numbers"; }
};

// Up to `count` ranges of each of these lengths, then of prefixes of each length that filters of
// the tree have; fewer, or none, where keys are too close together. The same for the same tree.
// Reads some thousand keys of the database, and advances by one for each. REQUIRES: the order of
// keys is bytewise.
rocksdb::Status MakeEmptyRanges(const Tree& tree, const std::vector<uint64_t>& lengths,
                                uint64_t count, Progress* progress, std::vector<EmptyRanges>* made);

}  // namespace rocksieve
