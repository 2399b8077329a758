// SPDX-License-Identifier: Apache-2.0
// Memory for large vectors that is kept for the next ones, as long as somebody has use for that: to
// touch memory for the first time costs more than what is computed with it.
//
// DESCRIPTION. One region of addresses, in huge pages where the system has them. A block is the
// first piece of it that is free and large enough. What lies in the region takes no more memory
// than was lent at once since a user last went, but for parts of huge pages: pages that nobody uses
// are given back to the system when others are touched instead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rocksieve {

// Thread-safe. A call takes time by the number of blocks that are lent.
class PagePool {
 public:
  // Smaller blocks are for the allocator.
  static constexpr size_t kLeastBytes = size_t{64} << 10;
  static constexpr size_t kAlignment = 64;

  // As long as one lives, blocks come from the region. When one goes, so do pages that nobody uses,
  // and the region with the last.
  class User {
   public:
    explicit User(PagePool* pool = &Global());
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    PagePool* const pool_;
  };

  explicit PagePool(size_t region_bytes = kRegionBytes) : region_bytes_(region_bytes) {}
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // Of the process. Never destroyed.
  static PagePool& Global();

  // A block of so many bytes, aligned to kAlignment; what it holds is not defined. Of the allocator
  // if there is no user, or no room. Throws std::bad_alloc.
  void* Lend(size_t bytes);
  // REQUIRES: lent for so many.
  void TakeBack(void* block, size_t bytes);

  // Lent from the region, and taken by it, which is in whole pages.
  uint64_t lent_bytes() const { return lent_bytes_.load(std::memory_order_relaxed); }
  uint64_t touched_bytes() const {
    return kPageBytes * touched_pages_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kPageBytes = size_t{2} << 20;
  // Of addresses, not of memory.
  static constexpr size_t kRegionBytes = size_t{1} << (sizeof(void*) == 8 ? 30 : 26);

  struct Piece {
    size_t end;
    bool is_lent;
  };

  // All of these REQUIRE the lock.
  bool HasRegion();
  void* TakeFirst(size_t bytes);
  void Touch(size_t begin, size_t end);
  // Of pages that nobody uses as many as are more than most_lent_bytes_.
  void GiveBackPages();
  void DropIfUnused();

  const size_t region_bytes_;
  std::mutex mutex_;
  char* region_ = nullptr;      // null: none yet
  bool region_failed_ = false;  // there are no addresses for it
  // What the region is divided into, without a gap, by where it begins. A block that comes back
  // needs no memory for that: its piece is there. No two that are free touch.
  std::map<size_t, Piece> pieces_;
  std::vector<bool> touched_;  // by page
  std::atomic<size_t> touched_pages_ = 0;
  size_t writable_bytes_ = 0;  // from its beginning, in whole pages
  std::atomic<uint64_t> lent_bytes_ = 0;
  uint64_t most_lent_bytes_ = 0;  // at once, since the first user came or one went
  int users_ = 0;
};

// Vectors of many plain numbers: elements that are not given a value have none, and large ones are
// of huge pages where the system has them, from a pool. To clear and to fault in small pages takes
// as long as what is done with the numbers.

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
