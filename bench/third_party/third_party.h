// SPDX-License-Identifier: Apache-2.0
// Filters of other authors beside ours, all over the same 64-bit hashes: bits, rates, times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rocksieve::bench {

using Hashes = std::vector<uint64_t>;

// One filter over a set. Queries go through a function of its own type, so that each can be inlined
// as its authors meant it to be.
struct ComparedFilter {
  std::string name;
  int bits;  // the rate is 2^-bits, nearly or exactly
  // Builds anew, replacing what was built before.
  void (*build)(const Hashes& keys, std::shared_ptr<void>* filter, uint64_t* bits);
  // How many of the hashes may be contained.
  uint64_t (*count)(const void* filter, const Hashes& asked);
};

// Those that were found when the benchmark was configured.
std::vector<ComparedFilter> BinaryFuseFilters();
std::vector<ComparedFilter> BumpedRibbonFilters();

}  // namespace rocksieve::bench
