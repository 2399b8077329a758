// SPDX-License-Identifier: Apache-2.0
// Where the data of a column family lies among all possible keys.
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

#include "plugin/database/database.h"
#include "plugin/database/tree.h"
#include "support/progress.h"

namespace rocksieve {

using Random = std::mt19937_64;

// How many bytes two keys have in common at their fronts.
size_t CommonBytes(std::string_view a, std::string_view b);

// A key between two others, at random; `low` if there is none that differs from both. Bytewise.
std::string KeyBetween(std::string_view low, std::string_view high, Random* random);

// The key space, cut into intervals that hold about equally much data: by the ranges of the files,
// and within them by RocksDB's indexes (GetApproximateSizes), so that no data is read.
class KeySpace {
 public:
  KeySpace(const Database& database, size_t family, const Tree& tree);

  // Every piece of data is about as likely to be near. REQUIRES: !empty().
  std::string RandomPlace(Random* random) const;

  bool empty() const { return intervals_.empty(); }

 private:
  struct Interval {
    std::string low, high;
    uint64_t bytes = 0;
  };
  void Split(const Database& database, size_t family, Interval interval, uint64_t enough,
             Random* random);

  uint64_t splits_ = 0;
  std::vector<Interval> intervals_;
  std::vector<double> bytes_up_to_;  // of the intervals so far, for drawing one
};

// Places all over the data of a column family, from which keys that are neighbours can be read.

// Over all keys in order, whatever filters there are; of the newest timestamps. REQUIRES: their
// order is known here.
class AllKeys {
 public:
  AllKeys(const Database& database, size_t family, const Tree& tree);
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
rocksdb::Status VisitPlaces(const Database& database, size_t family, const Tree& tree,
                            uint64_t count, rocksdb::Iterator* keys, Random* random,
                            const std::function<void(uint64_t pairs)>& take);

// Ranges of keys in which a column family has none, where its data is.

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
