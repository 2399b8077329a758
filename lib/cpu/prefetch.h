// SPDX-License-Identifier: Apache-2.0
// When a batch of queries fetches what it will read.
//
// A batch looks at no key before the memory of all its keys is on its way: that hides the waiting
// where the filter is in no cache of the core. Where it is in one, there is nothing to hide, and to
// find each place twice or to keep it would make a batch slower than single queries. Then a batch
// is a loop of queries.
#pragma once

#include <cstddef>

namespace rocksieve {

// Keys on their way at once. More than a core can have open, and as many as RocksDB asks at once.
inline constexpr size_t kKeysAhead = 32;

// Filters of fewer bytes are asked key after key. They fit into the smallest cache of a core, and
// where they are in none, little is waited for. docs/decisions/filters.md has the figures.
inline constexpr size_t kLeastBytesAhead = size_t{32} << 10;

}  // namespace rocksieve
