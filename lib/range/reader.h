// SPDX-License-Identifier: Apache-2.0
// Queries the payload of a range filter block in place.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <rocksieve/filter.h>

#include "lib/range/layout.h"

namespace rocksieve::range {

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
