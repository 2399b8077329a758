// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/memory_watch.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef ROCKSIEVE_ADDRESS_SANITIZER
// From sanitizer/allocator_interface.h, which GCC's package does not have.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, size_t),
                                              void (*free_hook)(const volatile void*));
size_t __sanitizer_get_allocated_size(const volatile void* p);
}

namespace rocksieve::fuzz {
namespace {

std::atomic<int64_t> in_use = 0, limit = INT64_MAX;

void OnAllocation(const volatile void*, size_t bytes) {
  const int64_t now = in_use.fetch_add(static_cast<int64_t>(bytes)) + static_cast<int64_t>(bytes);
  if (now <= limit.load()) return;
  limit = INT64_MAX;  // the report takes memory too
  std::fprintf(stderr, "fuzz: %zu bytes more than are allowed, by an allocation of %zu\n",
               static_cast<size_t>(now), bytes);
  std::abort();
}

void OnRelease(const volatile void* memory) {
  if (memory == nullptr) return;
  in_use -= static_cast<int64_t>(__sanitizer_get_allocated_size(memory));
}

}  // namespace

MemoryWatch::MemoryWatch(size_t most_more_bytes) {
  static const bool installed = [] {
    __sanitizer_install_malloc_and_free_hooks(OnAllocation, OnRelease);
    return true;
  }();
  if (!installed) std::abort();
  limit = in_use.load() + static_cast<int64_t>(most_more_bytes);
}

MemoryWatch::~MemoryWatch() { limit = INT64_MAX; }

void MemoryWatch::Forgive(size_t bytes) {
  if (limit.load() != INT64_MAX) limit += static_cast<int64_t>(bytes);
}

}  // namespace rocksieve::fuzz

#else

namespace rocksieve::fuzz {
MemoryWatch::MemoryWatch(size_t) {}
MemoryWatch::~MemoryWatch() = default;
void MemoryWatch::Forgive(size_t) {}
}  // namespace rocksieve::fuzz

#endif
