// SPDX-License-Identifier: Apache-2.0
// A sequence of flags in as many bits as their entropy: 1 flag in 100 set costs 0.081 bits a flag.
//
// DESCRIPTION. EncodeFlags and DecodeFlags are for whole sequences with one share of ones.
// FlagEncoder and FlagDecoder go flag by flag, with a probability of its own for each, as long as
// both sides know it. Within 0.05 % + 8 bytes of the entropy; 2-3 ns per flag.
//
// IMPLEMENTATION. A binary range coder with carry (G. N. N. Martin, "Range encoding", 1979, in the
// form that LZMA gave it, with 56 instead of 32 bits, so that shares as small as 2^-32 are exact).
// The interval [low, low + range) of 56-bit fractions is cut in two for each flag, the lower part,
// range / 2^32 * probability, for a one; when range < 2^48, its top byte is known and goes out. The
// last bytes are the shortest that lie in the interval, if zeros follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/format/byte_io.h"
#include "lib/memory/page_pool.h"

namespace rocksieve {

// The probability of a one, in units of 2^-32; never 0, so any flag can be coded with any.
using FlagProbability = uint32_t;

class FlagEncoder {
 public:
  // Appends to *out, which must outlive the encoder and is incomplete until Finish().
  explicit FlagEncoder(std::string* out) : out_(out) {}
  void Put(bool flag, FlagProbability probability_of_one);
  void Finish();  // once, last

 private:
  void ShiftOut();

  std::string* out_;
  uint64_t low_ = 0;  // 56 bits, and a carry above them
  uint64_t range_ = (uint64_t{1} << 56) - 1;
  uint64_t held_ff_bytes_ = 0;  // after held_byte_: a carry would turn them into zeros
  uint8_t held_byte_ = 0;
  bool holds_byte_ = false;
};

// Reads any bytes as flags, for ever: past the end it reads zeros. What is decoded from bytes that
// no encoder wrote is nonsense, but well-defined.
class FlagDecoder {
 public:
  explicit FlagDecoder(std::string_view bytes);
  bool Take(FlagProbability probability_of_one);

 private:
  uint8_t NextByte() { return position_ < bytes_.size() ? bytes_[position_++] : 0; }

  std::string_view bytes_;
  size_t position_ = 0;
  uint64_t range_ = (uint64_t{1} << 56) - 1;
  uint64_t offset_ = 0;  // of the code in the interval
};

// Each flag is 0 or 1. Writes a varint with the number of ones, and unless all are equal the length
// as a varint and the coded flags. The reader must know the number of flags.
void EncodeFlags(std::span<const uint8_t> flags, ByteWriter* out);

// False, with the reader failed, unless the flags have as many ones as announced.
bool DecodeFlags(ByteReader* in, size_t count, PageVector<uint8_t>* flags);

// Sorted numbers below a bound, as Rice-coded gaps (docs/formats/sketches.md): random ones cost
// log2(universe / count) + 1.5 bits each, 0.06 more than the entropy. Duplicates are kept. Each may
// carry a few bits of its own.
//
// Sources: S. W. Golomb, "Run-length encodings", 1966; R. F. Rice, "Some practical universal
// noiseless coding techniques", 1979. The writer tries the parameters around log2(mean gap)
// and takes the best, so that numbers in clusters cost less, not more.

struct SortedValues {
  std::vector<uint64_t> values;
  std::vector<uint64_t> extras;  // as many as values, or none if extra_bits is 0
};

// REQUIRES: values ascending; extras.size() == values.size(), each below 2^extra_bits, or both
// extras empty and extra_bits 0; 0 <= extra_bits <= 64.
void EncodeSorted(std::span<const uint64_t> values, std::span<const uint64_t> extras,
                  int extra_bits, ByteWriter* out);

// False, with the reader failed, if there are more than most_values numbers or one above
// `largest`. Allocates no more than the message has room for.
bool DecodeSorted(ByteReader* in, uint64_t largest, int extra_bits, uint64_t most_values,
                  SortedValues* out);

}  // namespace rocksieve
