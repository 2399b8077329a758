// SPDX-License-Identifier: Apache-2.0
// The envelope of every serialised type of the toolbox (docs/formats/toolbox.md), little-endian:
//
//   magic      "RSTB"
//   version    u8, 1
//   type       u8, EnvelopeType
//   length     u64, bytes of the payload
//   payload
//   check      u64, XXH3-64 (seed 0) of everything before it
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/format/byte_io.h"

namespace rocksieve {

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

// The payload, inside of `bytes`, which must be the envelope and nothing more. If they are not,
// std::nullopt, and *error (may be null) says whether they are foreign, cut off, damaged, of an
// unknown version, or another type's. An intact envelope says only that these are the bytes that
// somebody wrote, not that he meant well: payloads must be checked as if there were no check word.
std::optional<std::string_view> ReadEnvelope(std::string_view bytes, EnvelopeType type,
                                             std::string* error);

// Reads the payload of an envelope for a Deserialize(), which gives back Refuse(why) if it is not
// as it must be. Nothing can be read, and Refuse() changes nothing, if the envelope is not intact.
class PayloadReader : public ByteReader {
 public:
  // As ReadEnvelope(). *error (may be null) must outlive the reader.
  PayloadReader(std::string_view bytes, EnvelopeType type, std::string* error);

  // *error becomes "count-min sketch: invalid payload: WHY".
  std::nullopt_t Refuse(std::string_view why) const;

 private:
  EnvelopeType type_;
  std::string* error_;  // null if there is nothing to say (any more)
};

}  // namespace rocksieve
