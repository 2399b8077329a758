// SPDX-License-Identifier: Apache-2.0
// Heap memory as the allocator has it, held to a limit while something runs.
//
// The limit is checked in each allocation, so that the stack of the one that broke it is in the
// report. Sees what malloc and operator new give, whoever calls them, where the address sanitizer
// is there to tell; else nothing.
#pragma once

#include <cstddef>

namespace rocksieve::fuzz {

class MemoryWatch {
 public:
  // From here on, at most so many bytes more than now. One at a time.
  explicit MemoryWatch(size_t most_more_bytes);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // The caller's own bytes do not count.
  static void Forgive(size_t bytes);
};

}  // namespace rocksieve::fuzz
