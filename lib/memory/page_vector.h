// SPDX-License-Identifier: Apache-2.0
// Vectors of many plain numbers: elements that are not given a value have none, and large ones are
// of huge pages where the system has them, from a pool. To clear and to fault in small pages takes
// as long as what is done with the numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/memory/page_pool.h"

namespace rocksieve {

template <typename T>
class PageAllocator : public std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= PagePool::kAlignment);

 public:
  template <typename Other>
  struct rebind {
    using other = PageAllocator<Other>;
  };

  PageAllocator() = default;
  template <typename Other>
  PageAllocator(const PageAllocator<Other>&) {}  // NOLINT: as allocators are

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < PagePool::kLeastBytes || count > SIZE_MAX / sizeof(T)) {
      return std::allocator<T>::allocate(count);
    }
    return static_cast<T*>(PagePool::Global().Lend(bytes));
  }
  void deallocate(T* block, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < PagePool::kLeastBytes) return std::allocator<T>::deallocate(block, count);
    PagePool::Global().TakeBack(block, bytes);
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
using PageString = std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

}  // namespace rocksieve
