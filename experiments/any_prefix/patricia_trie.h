// SPDX-License-Identifier: Apache-2.0
// The branching prefixes of a sorted set of strings, and the strings themselves as leaves: D.
// Morrison, "PATRICIA", 1968.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/any_prefix/prefix_filter.h"

namespace rocksieve::experiments {

// Strings with which others begin are left out: nothing that is asked of prefixes depends on them.
struct PatriciaNode {
  std::string_view text;         // the whole prefix, or string
  size_t parent_depth = 0;       // the edge that leads here has the bytes of `text` from here on
  std::vector<size_t> children;  // in the order of their bytes
};

// In the order of breadth: the root, which may be "", is first, and siblings are neighbours. The
// keys must outlive it. Empty for no keys.
std::vector<PatriciaNode> PatriciaNodes(const SortedKeys& keys);

}  // namespace rocksieve::experiments
