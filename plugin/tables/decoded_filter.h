// SPDX-License-Identifier: Apache-2.0
// A filter block of any origin: what it is, what rate it promises, and a reader to ask.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rocksdb/rocksdb_namespace.h>
#include <rocksieve/filter.h>
#include <rocksieve/filter_spec.h>

#include "lib/filter/family.h"
#include "lib/filter/range_parts.h"

namespace rocksieve {

// Sizes and false-positive rates of RocksDB's built-in filters.
//
// Source: RocksDB 7.8, util/bloom_impl.h (FastLocalBloomImpl, LegacyLocalityBloomImpl, BloomMath),
// util/ribbon_impl.h (SerializableInterleavedSolution), util/ribbon_config.cc (slots for so many
// keys) and table/block_based/filter_policy.cc (sizes, and the five bytes at the end of each
// block). The headers of a RocksDB installation have none of it.

inline constexpr uint64_t kBuiltinBloomLineBytes = 64;

// "RocksDB Bloom"; empty if the family is none of RocksDB's.
std::string_view BuiltinFamilyName(Family family);

// What a filter of so many keys takes and does, made with this argument of the policy. A Ribbon
// policy makes Bloom filters at flushes (unless told otherwise) and of some hundred keys or fewer;
// only the latter is known here.
struct BuiltinFilter {
  double bytes = 0;
  double rate = 0;
};
BuiltinFilter BuiltinBloom(uint64_t keys, double bits_per_key);
BuiltinFilter BuiltinRibbon(uint64_t keys, double bloom_equivalent_bits_per_key);

// The Bloom filter of format_version 4 and earlier: whole bits per key, and an odd number of lines
// (LegacyBloomBitsBuilder).
BuiltinFilter LegacyBloom(uint64_t keys, double bits_per_key);

// Of a Bloom filter of format_version 5 and later: the rate of a line with so many keys.
double BuiltinBloomLineRate(int probes, double keys_in_line);

}  // namespace rocksieve

namespace ROCKSDB_NAMESPACE {
class FilterBitsReader;
}

namespace rocksieve {

enum class BlockKind {
  kOurs,
  kRocksDb,
  kEmpty,          // of no keys, as RocksDB writes it
  kMatchesAll,     // RocksDB's, but reserved or too damaged for its reader: every key passes
  kUnknown,        // of a policy that neither rocksieve nor RocksDB has: cannot be asked
  kDamaged,        // not as it was written: every key passes
  kFutureVersion,  // ours, of a later version: every key passes
  kNone,           // written instead of a filter that would not help: every key passes
};

// The compatibility name of RocksDB's built-in policies, and of ours unless told otherwise; and of
// ours with the option own-name.
inline constexpr std::string_view kBuiltinStoredName = "rocksdb.BuiltinBloomFilter";
inline constexpr std::string_view kOwnStoredName = "rocksieve";

// How full a filter is.
struct FilterLoad {
  std::string unit;     // "keys per line", "keys per slot"; empty if there is nothing to say
  double load = 0;      // of so many entries
  std::string fill_of;  // "probe bits set", "slots used"; empty if nothing can be counted
  double fill = 0;      // the share of them, counted
};

class DecodedFilter {
 public:
  // Takes a block apart, whose bytes must outlive the result. `stored_name` is that under which
  // the file has it (FilterPlaces).
  static DecodedFilter Decode(std::string_view block, std::string_view stored_name);

  BlockKind kind = BlockKind::kUnknown;
  rocksieve::Family family = rocksieve::Family::kNone;  // if kOurs or kRocksDb
  std::string_view block;
  FilterBlockInfo info;  // if kOurs

  // RocksDB's Bloom filters.
  int probes = 0;
  uint64_t lines = 0;
  uint64_t line_bytes = 0;
  // RocksDB's Ribbon filters: blocks of 128 slots; the first ones have a column less than the
  // others.
  uint32_t seed = 0;
  uint64_t ribbon_blocks = 0;
  int columns = 0;
  uint64_t blocks_with_fewer_columns = 0;

  // False only if the key is not in it; true for what cannot be asked.
  bool MayContain(std::string_view key) const;

  // False only if no key lies in [begin, end); true for all but ours of rocksieve.range.
  bool MayContainRange(std::string_view begin, std::string_view end) const;

  // The probability that MayContainRange() is true of a range without a key.
  double PredictedRangeRate(const EmptyRange& range) const;

  // Of ours of rocksieve.range; else none.
  const std::vector<RangePart>& parts() const { return parts_.parts(); }

  // The rate that such a filter of so many keys should have. Ours knows how many it has, and the
  // argument is ignored. 1 where every key passes, NaN if unknown.
  double PredictedRate(uint64_t keys) const;

  // "rocksieve.bloom", "RocksDB Ribbon", "none", "unknown"
  std::string Family() const;
  // "8 probes, 157 lines of 64 bytes"; empty if there is nothing to say.
  std::string Parameters() const { return Describe().parameters; }
  FilterSetting Setting() const { return Describe().setting; }
  // With so many entries; ours knows how many it has, and the argument is ignored. Looks at the
  // whole block.
  FilterLoad Load(uint64_t entries) const;

 private:
  void DecodeBuiltin();
  FilterDescription Describe() const;
  FilterFill CountFill() const;

  std::unique_ptr<Filter> ours_;
  RangeParts parts_{FilterBlockInfo()};
  std::shared_ptr<ROCKSDB_NAMESPACE::FilterBitsReader> builtin_;
};

// Bytes that do not answer, of each of our filters in a file whose keys have so many bytes on
// average, and with the compact frame or without: docs/formats/block.md.
double ReckonedFrameBytes(double key_bytes, bool compact);

}  // namespace rocksieve
