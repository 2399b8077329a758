// SPDX-License-Identifier: Apache-2.0
// A sorted set of codes below a bound, read in place: "is one of them between these two?"
// docs/formats/range.md, "A set of codes", has the bytes. Random codes cost log2(bound / codes) +
// 1.48 to 1.56 bits, and the directory 0.16 to 0.21.
//
// Sources: R. F. Rice, "Some practical universal noiseless coding techniques", 1979; for what such
// a set answers, Costa, Ferragina, Vinciguerra, "Grafite", 2024, which keeps it as Elias-Fano code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/range/kernel.h"

namespace rocksieve::range {

inline constexpr uint64_t kBucketsPerGroup = 32;
inline constexpr size_t kCodeSetHeadBytes = 16;

// Codes stay below it, so that sums of two do not overflow.
inline constexpr uint64_t kMaxUniverse = uint64_t{1} << 62;

class CodeSet {
 public:
  CodeSet() = default;

  // False if the payload cannot have come from a builder. Reads only the payload.
  static bool Parse(std::string_view payload, CodeSet* set,
                    FirstFrom first_from = FirstFromFor(ActiveIsa()));

  // Above every code. Not 0.
  uint64_t universe() const { return universe_; }
  uint64_t codes() const { return codes_; }

  // Whether a code lies in [first, last]. REQUIRES: first <= last < universe().
  // May read 8 bytes beyond the payload. Cost: some 40 ns, more where codes come in clusters.
  bool AnyBetween(uint64_t first, uint64_t last) const;

 private:
  uint64_t BucketOf(uint64_t code) const;
  uint64_t BeginOfBucket(uint64_t bucket) const;
  // `bucket`, the first of its group, or the first of a later group, if none between has codes.
  // Does not look beyond the group of last_bucket. Where keys come in bursts, a range may have
  // hundreds of thousands of buckets without codes in front of the first.
  uint64_t EndOfEmptyGroups(uint64_t bucket, uint64_t last_bucket) const;

  uint64_t buckets_ = 0, codes_ = 0, units_ = 0, universe_ = 0;
  uint64_t reciprocal_ = 0;       // 2^64 / units_
  uint64_t last_group_at_ = 0;    // the first bucket of the last group
  uint64_t last_group_size_ = 0;  // its buckets
  int low_bits_ = 0, entry_bits_ = 0;
  int64_t least_deviation_ = 0;
  FirstFrom first_from_ = nullptr;
  const uint8_t* group_ends_ = nullptr;
  const uint8_t* deviations_ = nullptr;
  const uint8_t* data_ = nullptr;
};

// Builds the payload of a CodeSet that takes a given number of bits.

// Places in blocks of 2^kBlockBits neighbours: the upper bits of a place are a hash of the block,
// the others the place in it.
inline constexpr int kBlockBits = 7;
inline constexpr uint64_t kBlockValues = uint64_t{1} << kBlockBits;

// The code at which a block begins that has this place. REQUIRES: universe > kBlockValues.
uint64_t CodeOfBlock(uint64_t place, uint64_t universe);

// The log2 of (universe / codes) that so many bits per code afford for random codes.
double Log2GapFor(double bits_per_code);

// The bits that random codes at this mean gap take, directory included; the inverse of it.
double BitsPerCodeFor(double log2_gap);

// Of hashed places: the universe is as large as the bits allow. Takes at most `bits`, but for sets
// of a few codes, and never less than 3 bits per code. Appends to *payload. REQUIRES: not empty.
void BuildHashedCodes(std::vector<uint64_t> places, double bits, std::string* payload);

// Of the numbers themselves, which are below `universe`. False, and nothing is appended, if some of
// them lie so close together that queries would be slow.
bool BuildExactCodes(const std::vector<uint64_t>& sorted_codes, uint64_t universe,
                     std::string* payload);

}  // namespace rocksieve::range
