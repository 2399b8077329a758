// SPDX-License-Identifier: Apache-2.0
#include "bench/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "lib/memory/page_pool.h"

namespace {

// Off except while memory is measured, so that the times of builds have no part in it.
std::atomic<bool> counting = false;
std::atomic<ptrdiff_t> live = 0, peak = 0;
std::atomic<size_t> allocations = 0;

void* Count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  if (counting.load(std::memory_order_relaxed)) {
    const ptrdiff_t now = (live += static_cast<ptrdiff_t>(malloc_usable_size(memory))) +
                          static_cast<ptrdiff_t>(rocksieve::PagePool::Global().lent_bytes());
    allocations++;
    ptrdiff_t highest = peak;
    while (highest < now && !peak.compare_exchange_weak(highest, now)) {
    }
  }
  return memory;
}

void Release(void* memory) {
  if (counting.load(std::memory_order_relaxed)) {
    live -= static_cast<ptrdiff_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}

void* AlignedMemory(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) != 0) return nullptr;
  return memory;
}

}  // namespace

// The other forms of new and delete call these.
void* operator new(std::size_t bytes) { return Count(std::malloc(bytes)); }
void* operator new[](std::size_t bytes) { return Count(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return Count(AlignedMemory(bytes, alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return Count(AlignedMemory(bytes, alignment));
}
void operator delete(void* memory) noexcept { Release(memory); }
void operator delete[](void* memory) noexcept { Release(memory); }
void operator delete(void* memory, std::size_t) noexcept { Release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Release(memory); }

namespace rocksieve::bench {

AllocationCounter::AllocationCounter() {
  PagePool::Global();  // is there before Count() asks it
  live = 0;
  peak = 0;
  allocations = 0;
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

size_t AllocationCounter::PeakBytes() const { return static_cast<size_t>(peak.load()); }

size_t AllocationCounter::Allocations() const { return allocations; }

size_t AllocatedBytes(const void* memory) { return malloc_usable_size(const_cast<void*>(memory)); }

}  // namespace rocksieve::bench
