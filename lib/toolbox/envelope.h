// SPDX-License-Identifier: Apache-2.0
// The envelope of every serialised type of the toolbox (docs/formats/toolbox.md).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <rocksieve/estimate/estimate.h>

#include "lib/format/byte_io.h"

namespace rocksieve {

// A number for a message: a fraction as %g, so that 1e-12 is not 0.000000.
template <typename Number>
std::string NumberText(Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", number);
    return text;
  } else {
    return std::to_string(number);
  }
}

// Throws std::invalid_argument if an option is `wrong`: "Options: option is ", its value, ", but
// must be 1 .. 9".
template <typename Number>
void RefuseIf(bool wrong, const char* option, Number value, const char* remedy) {
  if (wrong) throw std::invalid_argument(option + NumberText(value) + remedy);
}

// Words and arrays of bits: as bytes that are the same on every machine, with small numbers packed
// into them, and shared by threads; and what empty ones say.

// Plain words for who has a sketch alone, atomic ones for who has not. Relaxed: what a word says
// does not hang on other memory. On x86-64 and arm64 such a load is an ordinary one.
template <typename Word>
Word LoadRelaxed(const Word& word) {
  return std::atomic_ref<Word>(const_cast<Word&>(word)).load(std::memory_order_relaxed);
}

constexpr uint64_t BytesForBits(uint64_t bits) { return bits / 8 + (bits % 8 != 0); }
constexpr uint64_t WordsForBits(uint64_t bits) { return bits / 64 + (bits % 64 != 0); }

// Bits of words, the lowest of each byte first, while other threads may be setting some.
// REQUIRES: words.size() is WordsForBits(bits).
inline void WriteBits(const std::vector<uint64_t>& words, uint64_t bits, ByteWriter* out) {
  const uint64_t bytes = BytesForBits(bits);
  for (uint64_t i = 0; i < bytes / 8; i++) out->U64(LoadRelaxed(words[i]));
  if (bytes % 8 == 0) return;
  uint64_t last = LoadRelaxed(words.back());
  for (uint64_t i = 0; i < bytes % 8; i++, last >>= 8) out->U8(static_cast<uint8_t>(last));
}

// Fails if bytes are missing, or bits behind the last one are set.
// REQUIRES: as above, and all words are 0.
inline void ReadBits(ByteReader* in, uint64_t bits, std::vector<uint64_t>* words) {
  const uint64_t bytes = BytesForBits(bits);
  for (uint64_t i = 0; i < bytes / 8; i++) (*words)[i] = in->U64();
  for (uint64_t i = bytes / 8 * 8; i < bytes; i++) {
    (*words)[i / 8] |= uint64_t{in->U8()} << i % 8 * 8;
  }
  if (bits % 64 != 0 && words->back() >> bits % 64 != 0) in->Fail();
}

// SLOTS: numbers of so many bits, one after another: number i begins at bit i * bits, the lowest
// bit first, beginning with the lowest bit of the first byte. A table is saved as it lies in
// memory. They are read and written as whole 64-bit words, and so take 8 bytes more there.
inline constexpr size_t kSlotPaddingBytes = 8;

using Slots = std::vector<uint8_t>;

// All 0. REQUIRES: 1 <= bits <= 57, as of all below.
inline Slots MakeSlots(uint64_t count, int bits) {
  return Slots(BytesForBits(count * static_cast<uint64_t>(bits)) + kSlotPaddingBytes);
}

constexpr uint64_t LowBitsMask(int bits) {
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

inline uint64_t GetSlot(const Slots& slots, uint64_t index, int bits) {
  const uint64_t at = index * static_cast<uint64_t>(bits);
  return LoadLittleEndian64(slots.data() + at / 8) >> (at % 8) & LowBitsMask(bits);
}

// REQUIRES: no bits in `value` beyond `bits`.
inline void SetSlot(Slots* slots, uint64_t index, int bits, uint64_t value) {
  const uint64_t at = index * static_cast<uint64_t>(bits);
  uint8_t* const from = slots->data() + at / 8;
  const uint64_t others = LoadLittleEndian64(from) & ~(LowBitsMask(bits) << (at % 8));
  StoreLittleEndian64(from, others | value << (at % 8));
}

inline void WriteSlots(const Slots& slots, ByteWriter* out) {
  out->Bytes({reinterpret_cast<const char*>(slots.data()), slots.size() - kSlotPaddingBytes});
}

// All that is left of a message. Empty, or what is wrong: not the bytes of so many slots, or set
// bits behind the last one. Allocates nothing before the bytes are there.
inline std::string ReadSlots(ByteReader* in, uint64_t count, int bits, Slots* slots) {
  const uint64_t all_bits = count * static_cast<uint64_t>(bits);
  const std::string_view bytes = in->Rest();
  if (bytes.size() != BytesForBits(all_bits)) {
    return "the slots need " + std::to_string(BytesForBits(all_bits)) + " bytes, not " +
           std::to_string(bytes.size());
  }
  *slots = MakeSlots(count, bits);
  std::copy(bytes.begin(), bytes.end(), slots->begin());
  return (*slots)[all_bits / 8] >> all_bits % 8 == 0 ? "" : "bits after the last slot";
}

// How many keys were thrown into cells, from the number of cells that have one. Source: Whang,
// Vander-Zanden, Taylor, "A linear-time probabilistic counting algorithm for database
// applications", 1990: n = m ln(m / empty), error sqrt(m (e^t - t - 1)) with t = n / m.
// REQUIRES: 0 <= taken < cells.
inline Estimate LinearCount(double cells, double taken) {
  const double load = -std::log1p(-taken / cells);
  return {cells * load, std::sqrt(std::max(0.0, cells * (std::expm1(load) - load)))};
}

// Stored: the values never change. 7 and 10 were types of experiments.
enum class EnvelopeType : uint8_t {
  kBloom = 1,
  kScalableBloom = 2,
  kCountingBloom = 3,
  kPartitionedBloom = 4,
  kCuckoo = 5,
  kCuckooTable = 6,
  kCountMin = 8,
  kTopK = 9,
  kHyperLogLog = 11,
  kKMinimumValues = 12,
  kMinHash = 13,
  kLshIndex = 14,
  kFilterTree = 15,
};

std::string WriteEnvelope(EnvelopeType type, std::string_view payload);

// Reads the payload of an envelope for a Deserialize(), which gives back Refuse(why) if it is not
// as it must be. Nothing can be read, and Refuse() changes nothing, if the envelope is not intact.
// If it is, that says only that these are the bytes that somebody wrote, not that he meant well:
// payloads must be checked as if there were no check word.
class PayloadReader : public ByteReader {
 public:
  // `bytes` must be the envelope and nothing more. If not, *error says whether they are foreign,
  // cut off, damaged, of an unknown version, or another type's. It may be null, else it must
  // outlive the reader.
  PayloadReader(std::string_view bytes, EnvelopeType type, std::string* error);

  // *error becomes "count-min sketch: invalid payload: WHY".
  std::nullopt_t Refuse(std::string_view why) const;

 private:
  EnvelopeType type_;
  std::string* error_;  // null if there is nothing to say (any more)
};

}  // namespace rocksieve
