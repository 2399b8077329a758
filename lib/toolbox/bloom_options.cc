// SPDX-License-Identifier: Apache-2.0
#include "lib/toolbox/bloom_options.h"

#include <stdexcept>

namespace rocksieve::bloom {
namespace {

// Empty, or what Checked() would say.
std::string WhatIsWrong(const BloomFilterOptions& options, const char* owner,
                        const char* positions_field) {
  const std::string name(owner), positions(positions_field);
  if (options.hashes < 1 || options.hashes > BloomFilterOptions::kMostHashes) {
    return name + ": hashes is " + std::to_string(options.hashes) +
           "; give 1 to 64, or let ForKeys() choose";
  }
  if (options.bits < 1 || options.bits > BloomFilterOptions::kMostBits) {
    return name + ": " + positions + " is " + std::to_string(options.bits) +
           "; give 1 to 2^48, or let ForKeys() choose";
  }
  if (options.hashing != BloomHashing::kDouble &&
      options.hashing != BloomHashing::kEnhancedDouble &&
      options.hashing != BloomHashing::kIndependent) {
    return name + ": hashing is none of BloomHashing's values";
  }
  return "";
}

}  // namespace

BloomFilterOptions Checked(const BloomFilterOptions& options, const char* owner,
                           const char* positions_field) {
  const std::string wrong = WhatIsWrong(options, owner, positions_field);
  if (!wrong.empty()) throw std::invalid_argument(wrong);
  BloomFilterOptions rounded = options;
  if (options.layout == BloomLayout::kPartitioned) {
    const uint64_t arrays = static_cast<uint64_t>(options.hashes);
    rounded.bits = (options.bits + arrays - 1) / arrays * arrays;
  }
  return rounded;
}

void WriteOptions(const BloomFilterOptions& options, ByteWriter* out) {
  out->U64(options.bits);
  out->U8(static_cast<uint8_t>(options.hashes));
  out->U8(static_cast<uint8_t>(options.hashing));
  out->U64(options.seed);
}

BloomFilterOptions ReadOptions(ByteReader* in, BloomLayout layout) {
  BloomFilterOptions options;
  options.bits = in->U64();
  options.hashes = in->U8();
  options.hashing = static_cast<BloomHashing>(in->U8());
  options.seed = in->U64();
  options.layout = layout;
  const bool whole_arrays = layout == BloomLayout::kOneArray || options.hashes == 0 ||
                            options.bits % static_cast<uint64_t>(options.hashes) == 0;
  if (!whole_arrays || !WhatIsWrong(options, "", "").empty()) in->Fail();
  return in->ok() ? options : BloomFilterOptions();
}

}  // namespace rocksieve::bloom
