// SPDX-License-Identifier: Apache-2.0
// Vectors of many plain numbers: elements that are not given a value have none, and large ones are
// of huge pages where the system has them. To clear and to fault in small pages takes as long as
// what is done with the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rocksieve {

// Asks for huge pages for those that lie in the block as a whole, so that it takes no more memory.
// A hint: nothing is lost if it is not heard.
inline void AdviseHugePages(void* block, size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr uintptr_t kHugePage = uintptr_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(block) + kHugePage - 1) & ~(kHugePage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) & ~(kHugePage - 1);
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  static_cast<void>(block);
  static_cast<void>(bytes);
#endif
}

template <typename T>
class PageAllocator : public std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  template <typename Other>
  struct rebind {
    using other = PageAllocator<Other>;
  };

  PageAllocator() = default;
  template <typename Other>
  PageAllocator(const PageAllocator<Other>&) {}  // NOLINT: as allocators are

  T* allocate(size_t count) {
    constexpr size_t kLeastBytes = size_t{4} << 20;
    T* const block = std::allocator<T>::allocate(count);
    if (count * sizeof(T) >= kLeastBytes) AdviseHugePages(block, count * sizeof(T));
    return block;
  }
  template <typename U>
  void construct(U* element) {
    ::new (static_cast<void*>(element)) U;  // with no value
  }
  template <typename U, typename... Arguments>
  void construct(U* element, Arguments&&... arguments) {
    ::new (static_cast<void*>(element)) U{std::forward<Arguments>(arguments)...};
  }
};

template <typename T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace rocksieve
