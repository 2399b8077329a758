// Arrays of bits as bytes, the lowest bit of each byte first.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/format/byte_io.h"

namespace rocksieve {

constexpr uint64_t BytesForBits(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }

// word_at(i) is the i-th 64 bits; it is asked once for each.
template <typename WordAt>
void WriteBits(WordAt word_at, uint64_t bits, ByteWriter* out) {
  const uint64_t bytes = BytesForBits(bits);
  for (uint64_t i = 0; i < bytes / 8; i++) out->U64(word_at(i));
  if (bytes % 8 == 0) return;
  uint64_t last = word_at(bytes / 8);
  for (uint64_t i = 0; i < bytes % 8; i++, last >>= 8) out->U8(static_cast<uint8_t>(last));
}

// REQUIRES: words.size() * 64 >= bits.
inline void WriteBits(const std::vector<uint64_t>& words, uint64_t bits, ByteWriter* out) {
  WriteBits([&words](uint64_t i) { return words[i]; }, bits, out);
}

// Fails if bytes are missing, or bits behind the last one are set.
// REQUIRES: words->size() is the number of words that have such bits, and all are 0.
inline void ReadBits(ByteReader* in, uint64_t bits, std::vector<uint64_t>* words) {
  const uint64_t bytes = BytesForBits(bits);
  for (uint64_t i = 0; i < bytes / 8; i++) (*words)[i] = in->U64();
  for (uint64_t i = bytes / 8 * 8; i < bytes; i++) {
    (*words)[i / 8] |= uint64_t{in->U8()} << i % 8 * 8;
  }
  if (bits % 64 != 0 && words->back() >> bits % 64 != 0) in->Fail();
}

}  // namespace rocksieve
