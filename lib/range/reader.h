// SPDX-License-Identifier: Apache-2.0
// How the payload of a range filter block is made up of parts (docs/formats/range.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

#include "lib/hash/mix.h"
#include "lib/range/builder.h"
#include "lib/range/cells.h"
#include "lib/range/code_set.h"

namespace rocksieve::range {

inline constexpr size_t kHeadBytes = 4;
inline constexpr size_t kPartHeadBytes = 16;
inline constexpr size_t kOrderHeadBytes = 24;
inline constexpr uint8_t kFlagPartition = 1;
inline constexpr size_t kMaxParts = kMaxPrefixLengths + 2;

// Of the lead of a key's cell; cells of no lead have that of an empty one.
inline uint64_t LeadHash(std::string_view key, size_t depth, uint64_t salt) {
  return CellHash(key, LeadBytes(depth), salt);
}

// A place, of which the upper bits stand for the block and the lower for the number in it.
inline uint64_t PlaceOf(uint64_t lead_hash, uint64_t number) {
  const uint64_t hash = Mix64(lead_hash + (number >> kBlockBits) * 0x9e3779b97f4a7c15);
  return (hash & ~(kBlockValues - 1)) | (number & (kBlockValues - 1));
}

// Queries the payload of a range filter block in place.

// Blocks of neighbours that an order is asked for, one by one.
inline constexpr uint64_t kMostBlocks = 16;

// A part of an opened block.
struct PartInfo {
  PartKind kind = PartKind::kKeys;
  size_t depth = 0;
  uint8_t parameter = 0;  // of a ribbon
  uint64_t entries = 0;
  std::string_view payload;
};

// The payload of a block, taken apart.
struct Parts {
  bool is_partition = false;
  std::string_view bound;
  size_t shortest = 0;  // no key has fewer bytes
  std::vector<PartInfo> parts;
};

// False if it cannot have come from a builder. Looks at no part but for its description.
bool ParseParts(const FilterBlockInfo& info, Parts* parts);

// The ribbon filter block that a part would be.
FilterBlockInfo RibbonOf(const PartInfo& part, const FilterBlockInfo& info);

// The codes of a part that knows the order.
bool ParseCodes(const PartInfo& part, CodeSet* codes);

// Null if the payload is damaged. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info);

}  // namespace rocksieve::range
