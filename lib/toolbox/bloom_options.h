// SPDX-License-Identifier: Apache-2.0
// What the kinds of Bloom filters have in common: their options, and the positions that a key's
// hash has in an array by them.
#pragma once

#include <algorithm>
#include <cstdint>

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/format/byte_io.h"
#include "lib/hash/mix.h"

namespace rocksieve::bloom {

// The options, rounded for their layout. Throws std::invalid_argument, in whose text the options
// are called `owner`, and the number of positions `positions_field`.
BloomFilterOptions Checked(const BloomFilterOptions& options, const char* owner,
                           const char* positions_field);

// All but the layout.
void WriteOptions(const BloomFilterOptions& options, ByteWriter* out);

// Fails, if no filter can have these options.
BloomFilterOptions ReadOptions(ByteReader* in, BloomLayout layout);

// Calls visit(position) for the key's positions in turn, as long as it returns true; the result is
// whether it always did. The one place that knows BloomHashing. REQUIRES: options that Checked()
// has returned.
template <typename Visit>
inline bool VisitProbes(const BloomFilterOptions& options, uint64_t hash, Visit visit) {
  const uint64_t stride = options.layout == BloomLayout::kPartitioned
                              ? options.bits / static_cast<uint64_t>(options.hashes)
                              : 0;
  const uint64_t range = stride == 0 ? options.bits : stride;
  uint64_t base = 0;  // where the array of the probe begins
  if (options.hashing == BloomHashing::kIndependent) {
    for (int i = 0; i < options.hashes; i++, base += stride) {
      const uint64_t word = SplitMix64(hash, static_cast<uint64_t>(i));
      if (!visit(base + MultiplyHigh64(word, range))) return false;
    }
    return true;
  }
  // All arithmetic is modulo the range, by one subtraction: both numbers stay below it.
  uint64_t at = MultiplyHigh64(SplitMix64(hash, 0), range);
  uint64_t step = MultiplyHigh64(SplitMix64(hash, 1), range);
  const uint64_t enhanced = options.hashing == BloomHashing::kEnhancedDouble ? 1 : 0;
  for (int i = 0; i < options.hashes; i++, base += stride) {
    if (!visit(base + at)) return false;
    at += step;
    if (at >= range) at -= range;
    step += enhanced * static_cast<uint64_t>(i + 1);
    while (step >= range) step -= range;  // more than once only in arrays below 64 bits
  }
  return true;
}

// The positions without repetitions, for what must not count one twice.
class DistinctProbes {
 public:
  DistinctProbes(const BloomFilterOptions& options, uint64_t hash) {
    VisitProbes(options, hash, [this](uint64_t position) {
      if (std::find(begin(), end(), position) == end()) positions_[count_++] = position;
      return true;
    });
  }
  const uint64_t* begin() const { return positions_; }
  const uint64_t* end() const { return positions_ + count_; }

 private:
  int count_ = 0;
  uint64_t positions_[BloomFilterOptions::kMostHashes];
};

}  // namespace rocksieve::bloom
