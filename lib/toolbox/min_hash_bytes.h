// SPDX-License-Identifier: Apache-2.0
// The options and the places of MinHash signatures as bytes: alone in an envelope, or in an LSH
// index.
#pragma once

#include <rocksieve/estimate/min_hash.h>

#include "lib/format/byte_io.h"

namespace rocksieve {

class MinHashBytes {
 public:
  static constexpr uint64_t kMostPlaces = 4096;

  //   seed      u64
  //   method    u8, MinHashMethod
  //   size      varint, 1 .. 4096
  static void WriteOptions(const MinHashOptions& options, ByteWriter* out);
  // Fails, if no signature can have these options.
  static MinHashOptions ReadOptions(ByteReader* in);

  //   size times u64
  static void WritePlaces(const MinHash& signature, ByteWriter* out);
  // Fails, if places are missing or have values that no key can give them. REQUIRES: valid options.
  static MinHash ReadPlaces(const MinHashOptions& options, ByteReader* in);
};

}  // namespace rocksieve
