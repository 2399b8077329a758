// SPDX-License-Identifier: Apache-2.0
// Builds the payload of a CodeSet that takes a given number of bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rocksieve::range {

// Places in blocks of 2^kBlockBits neighbours: the upper bits of a place are a hash of the block,
// the others the place in it.
inline constexpr int kBlockBits = 7;
inline constexpr uint64_t kBlockValues = uint64_t{1} << kBlockBits;

// The code at which a block begins that has this place. REQUIRES: universe > kBlockValues.
uint64_t CodeOfBlock(uint64_t place, uint64_t universe);

struct CodeSetSize {
  double log2_gap = 0;  // of the mean gap between codes
};

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
