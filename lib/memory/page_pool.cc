// SPDX-License-Identifier: Apache-2.0
#include "lib/memory/page_pool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace rocksieve {
namespace {

constexpr size_t kLeastHugeBytes = size_t{4} << 20;  // of the allocator's

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// For those pages that lie in the block as a whole, so that it takes no more memory. A hint:
// nothing is lost if it is not heard.
void AdviseHugePages(void* block, size_t bytes, size_t page_bytes) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  const size_t begin = RoundUp(address, page_bytes);
  const size_t end = (address + bytes) / page_bytes * page_bytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// Addresses without memory; null if there are none, or they are counted.
char* MapRegion(size_t bytes, size_t alignment) {
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur != RLIM_INFINITY) return nullptr;
  // Not to be read or written yet: else whoever locks all memory would have it all at once.
  void* const map = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(map);
  const size_t before =
      RoundUp(reinterpret_cast<uintptr_t>(begin), alignment) - reinterpret_cast<uintptr_t>(begin);
  if (before > 0) munmap(begin, before);
  if (before < alignment) munmap(begin + before + bytes, alignment - before);
  AdviseHugePages(begin + before, bytes, alignment);
  return begin + before;
}

// Nobody may touch what is not lent.
void Forbid([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_POISON_MEMORY_REGION(begin, bytes);
#endif
}
void Allow([[maybe_unused]] const void* begin, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
#endif
}

}  // namespace

PagePool::User::User(PagePool* pool) : pool_(pool) {
  const std::lock_guard lock(pool_->mutex_);
  if (pool_->users_++ == 0) pool_->most_lent_bytes_ = pool_->lent_bytes_;
}

PagePool::User::~User() {
  const std::lock_guard lock(pool_->mutex_);
  pool_->users_--;
  pool_->most_lent_bytes_ = pool_->lent_bytes_;
  pool_->GiveBackPages();
  pool_->DropIfUnused();
}

PagePool::~PagePool() {
  users_ = 0;
  DropIfUnused();
}

PagePool& PagePool::Global() {
  static PagePool* const pool = new PagePool;
  return *pool;
}

void* PagePool::Lend(size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (users_ > 0 && HasRegion()) {
      if (void* const block = TakeFirst(RoundUp(bytes, kAlignment))) return block;
    }
  }
  void* const block = ::operator new(bytes, std::align_val_t(kAlignment));
  if (bytes >= kLeastHugeBytes) AdviseHugePages(block, bytes, kPageBytes);
  return block;
}

void PagePool::TakeBack(void* block, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto address = reinterpret_cast<uintptr_t>(block);
  const auto region = reinterpret_cast<uintptr_t>(region_);
  if (region_ == nullptr || address < region || address >= region + region_bytes_) {
    ::operator delete(block, std::align_val_t(kAlignment));
    return;
  }
  bytes = RoundUp(bytes, kAlignment);
  Forbid(block, bytes);
  lent_bytes_ -= bytes;
  const auto piece = pieces_.find(address - region);
  piece->second.is_lent = false;
  if (const auto next = std::next(piece); next != pieces_.end() && !next->second.is_lent) {
    piece->second.end = next->second.end;
    pieces_.erase(next);
  }
  if (piece != pieces_.begin() && !std::prev(piece)->second.is_lent) {
    std::prev(piece)->second.end = piece->second.end;
    pieces_.erase(piece);
  }
  DropIfUnused();
}

bool PagePool::HasRegion() {
  if (region_ == nullptr && !region_failed_) {
    region_ = MapRegion(region_bytes_, kPageBytes);
    region_failed_ = region_ == nullptr;
    if (region_failed_) return false;
    pieces_ = {{0, {region_bytes_, /*is_lent=*/false}}};
    touched_.assign(region_bytes_ / kPageBytes, false);
    touched_pages_ = writable_bytes_ = 0;
  }
  return region_ != nullptr;
}

void* PagePool::TakeFirst(size_t bytes) {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(), [bytes](const auto& piece) {
    return !piece.second.is_lent && piece.second.end - piece.first >= bytes;
  });
  if (found == pieces_.end()) return nullptr;
  const size_t begin = found->first, end = found->second.end;
  if (begin + bytes > writable_bytes_) {
    const size_t writable_bytes = RoundUp(begin + bytes, kPageBytes);
    char* const next = region_ + writable_bytes_;
    const size_t more = writable_bytes - writable_bytes_;
    if (mprotect(next, more, PROT_READ | PROT_WRITE) != 0) return nullptr;
    Forbid(next, more);
    writable_bytes_ = writable_bytes;
  }
  if (begin + bytes < end) pieces_[begin + bytes] = {end, /*is_lent=*/false};
  found->second = {begin + bytes, /*is_lent=*/true};
  lent_bytes_ += bytes;
  most_lent_bytes_ = std::max(most_lent_bytes_, lent_bytes());
  Touch(begin, begin + bytes);
  GiveBackPages();
  Allow(region_ + begin, bytes);
  return region_ + begin;
}

void PagePool::Touch(size_t begin, size_t end) {
  for (size_t page = begin / kPageBytes; page * kPageBytes < end; page++) {
    touched_pages_ += !touched_[page];
    touched_[page] = true;
  }
}

void PagePool::GiveBackPages() {
  const uint64_t most_pages = RoundUp(most_lent_bytes_, kPageBytes) / kPageBytes;
  // From the end, which is used last.
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (piece->second.is_lent) continue;
    const size_t first = RoundUp(piece->first, kPageBytes) / kPageBytes;
    for (size_t page = piece->second.end / kPageBytes; page-- > first;) {
      if (touched_pages_ <= most_pages) return;
      if (!touched_[page]) continue;
      madvise(region_ + page * kPageBytes, kPageBytes, MADV_DONTNEED);
      touched_[page] = false;
      touched_pages_--;
    }
  }
}

void PagePool::DropIfUnused() {
  if (users_ > 0 || lent_bytes_ > 0 || region_ == nullptr) return;
  Allow(region_, writable_bytes_);
  munmap(region_, region_bytes_);
  region_ = nullptr;
  touched_pages_ = 0;
}

}  // namespace rocksieve
