// Queries the payload of a Bloom filter block in place.
#pragma once

#include <memory>

#include <rocksieve/filter.h>

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {

// The block's parameter byte: the number of probes, and whether the build was thorough, which
// queries need not know, but the expected rate does.
inline constexpr uint8_t kThoroughFlag = 0x80;
inline int ProbesOf(const FilterBlockInfo& info) { return info.parameter & ~kThoroughFlag; }
inline bool IsThorough(const FilterBlockInfo& info) {
  return (info.parameter & kThoroughFlag) != 0;
}

// Null if the payload cannot have come from a builder. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::bloom
