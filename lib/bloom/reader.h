// SPDX-License-Identifier: Apache-2.0
// Queries the payload of a Bloom filter block in place.
#pragma once

#include <memory>

#include <rocksieve/filter.h>

#include "lib/bloom/kernel.h"

namespace rocksieve::bloom {

// Null if the payload cannot have come from a builder. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::bloom
