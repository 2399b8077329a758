// SPDX-License-Identifier: Apache-2.0
// Counts what operator new and the page pool hand out, in this program and in the libraries that it
// uses: the dynamic linker gives them the program's operators, which this module defines.
#pragma once

#include <cstddef>

namespace rocksieve::bench {

// From construction on. One at a time.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // The most bytes that were allocated at once, with what the allocator rounds up, beyond those
  // that were there at the start.
  size_t PeakBytes() const;
  // How often memory was allocated, blocks of the pool apart.
  size_t Allocations() const;
};

// What the allocator handed out for this pointer, which operator new returned.
size_t AllocatedBytes(const void* memory);

}  // namespace rocksieve::bench
