// SPDX-License-Identifier: Apache-2.0
// Places all over the data of a column family, the keys there, and ranges between them that hold
// none.
#pragma once

#include <cstddef>
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

// Keys that are not in a column family, where its data is and like its keys.
//
// A filter of whole keys cannot tell one missing key from another; what matters is where it lies
// (in the ranges of which files), and, for prefix filters, which prefix it has. So the keys are
// placed like the data: between two keys that are neighbours in the database, which proves that
// they are missing; of their length, if something fits, and of bytes that the data has at the same
// place: digits stay digits. Where nothing fits, as between the consecutive numbers 17 and 18, a
// key is made longer, if the data has keys of several lengths, or too few fit anywhere; of a tree
// with range filters, to which a longer key may be the same, if none fits anywhere.

struct MissingKeys {
  std::vector<std::string> keys;
  // True if the keys could not be read, so that these lie between the ends of files: that they are
  // missing is then likely only, and their places do not follow the data.
  bool from_ranges_only = false;
  std::string why;  // in that case
};

// About `count` keys; none if the tree has no files. The same for the same tree and count. Reads
// some thousand keys of the database. Advances by one per key.
rocksdb::Status MakeMissingKeys(const Tree& tree, uint64_t count, Progress* progress,
                                MissingKeys* missing);

// Missing keys of the user's own: one key per line of the file, - for standard input; all bytes but
// newlines count, empty lines do not. With `hex`, each line is a key in hexadecimal digits, with or
// without 0x before them.
rocksdb::Status ReadProbeKeys(const std::string& path, bool hex, std::vector<std::string>* keys);

// What lookups of missing keys meet in a tree: its filters, asked without reading data, and the
// data blocks that are read where a filter lets them pass.

using Keys = std::vector<std::string>;
using Ranges = std::vector<EmptyRange>;

// Keys or ranges number `begin` up to but without `end`.
struct KeySpan {
  size_t begin = 0, end = 0;
  size_t size() const { return end - begin; }
};

// As the column family orders them.
void SortKeys(const ColumnFamily& family, Keys* keys);

// The keys, sorted, that come to a file; all, if their order is unknown.
KeySpan KeysThatMeet(const Tree& tree, const TreeFile& file, const Keys& keys);

// The same of ranges that are sorted by their begins: a seek comes to the first file of a level
// that ends behind it, and to each such file of level 0. `file`: which one of the level.
KeySpan RangesThatMeet(const TreeLevel& level, size_t file, const Ranges& ranges);

// What happened at one file, to keys or to ranges.
struct FileProbes {
  uint64_t lookups = 0;         // that come to this file
  uint64_t passes = 0;          // of those, such that its filter lets through, so a block is read
  bool filter_answers = false;  // false: no filter, or not asked, or unreadable: all pass
  double predicted = 0;         // passes that are expected; NaN if nobody knows
};

// Adds up files.
struct ProbeSums {
  double lookups = 0, passes = 0, predicted = 0;
  // Of the files whose filters answer.
  double filter_lookups = 0, filter_passes = 0, filter_predicted = 0;

  void Add(const FileProbes& file);
};

struct TreeProbes {
  uint64_t keys = 0;                            // or ranges
  std::vector<std::vector<FileProbes>> levels;  // as Tree::levels and their files
  // Of one lookup of a missing key, over all files.
  double files_met = 0;
  double passes = 0;
  double passes_low_95 = 0, passes_high_95 = 0;
};

// Sorts the keys. Each is looked up in all files that RocksDB comes to (Tree::LookupComesTo()).
// Advances by one per file.
rocksdb::Status ProbeTree(const Tree& tree, Keys* keys, Progress* progress, TreeProbes* probes);

// Sorts the ranges. Each is sought, with its upper bound, in all files that RocksDB comes to.
// Advances by one per file. REQUIRES: the order of keys is bytewise.
rocksdb::Status ProbeRanges(const Tree& tree, Ranges* ranges, Progress* progress,
                            TreeProbes* probes);

// How many data blocks a lookup reads in a file whose filter lets it pass.
struct BlockReads {
  // Mostly 1: even a key that lies between two blocks reads one. A key between the last key of a
  // block and the boundary that the index has for it reads the next one too, which tells if blocks
  // hold one or two keys; an index that knows the first keys of blocks (kBinarySearchWithFirstKey)
  // saves reads.
  double per_pass = 1;
  uint64_t keys_tried = 0;
  uint64_t keys_found = 0;  // of those; they are not missing at all
  std::string error;        // what kept it from being measured; empty if nothing did
};

// Looks up some of the keys, or of the ranges, in the database without filters, and counts blocks
// with RocksDB's own counters.
BlockReads MeasureBlockReads(const Tree& tree, const Keys& keys);
BlockReads MeasureRangeReads(const Tree& tree, const Ranges& ranges);

}  // namespace rocksieve
