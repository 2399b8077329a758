// SPDX-License-Identifier: Apache-2.0
// Queries the payload of a ribbon filter block in place.
#pragma once

#include <memory>

#include <rocksieve/filter.h>

#include "lib/ribbon/kernel.h"
#include "lib/ribbon/layout.h"

namespace rocksieve::ribbon {

enum class Form {
  kDamaged,   // cannot have come from a builder
  kMatchAll,  // the keys could not be built into a filter: every key may be present
  kSmall,
  kGeneral,
};

// What a payload is, by its size and the block's parameter. Looks at no byte of it.
Form FormOf(const FilterBlockInfo& info);

// Takes a payload of the general form apart. False if it is damaged. Reads only the block.
bool ParseTable(const FilterBlockInfo& info, Table* table);

// Columns per slot, as they are in an opened block of the general form.
Width WidthOf(const Table& table);

// Its false-positive rate. The share of wide groups is not that of the keys that are asked one
// column more: buckets have equally many keys, but the first is shorter than the others and the
// last longer, and rows that are folded back may reach narrow groups. In filters of some hundred
// keys that makes up to a tenth, of fewer a quarter. Cost: some nanoseconds per bucket.
double RateOf(const Table& table);

// Null if the payload is damaged. Reads only the block.
std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel = ActiveKernel());

}  // namespace rocksieve::ribbon
