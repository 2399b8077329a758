// SPDX-License-Identifier: Apache-2.0
// The hashes that a builder has collected, and their division into parts that fit a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lib/memory/page_pool.h"

namespace rocksieve {

// Grows without ever holding two copies of what it has: each block has room for a 16th of all
// before it, so that there are few of them.
class HashList {
  using Block = PageVector<uint64_t>;

 public:
  HashList() = default;
  template <typename Input>
  HashList(Input begin, Input end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  explicit HashList(Block hashes) {
    if (hashes.empty()) return;
    Append(std::move(hashes));
    next_ = end_;
  }
  HashList(const HashList& other) {
    other.ForEach([this](uint64_t hash) { push_back(hash); });
  }
  HashList(HashList&& other) noexcept { swap(other); }
  HashList& operator=(HashList other) noexcept {
    swap(other);
    return *this;
  }
  void swap(HashList& other) noexcept {
    std::swap(blocks_, other.blocks_);
    std::swap(room_, other.room_);
    std::swap(next_, other.next_);
    std::swap(end_, other.end_);
  }

  size_t size() const { return room_ - static_cast<size_t>(end_ - next_); }
  bool empty() const { return next_ == nullptr; }
  // REQUIRES: !empty().
  uint64_t back() const { return next_[-1]; }
  // Calls visit(hash) in the order in which they were added.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Block& block : blocks_) {
      const uint64_t* const end = &block == &blocks_.back() ? next_ : block.data() + block.size();
      for (const uint64_t* at = block.data(); at != end; ++at) visit(*at);
    }
  }

  void push_back(uint64_t hash) {
    if (next_ == end_) {
      constexpr size_t kLeast = 64;
      Append(Block(room_ / 16 > kLeast ? room_ / 16 : kLeast));
    }
    *next_++ = hash;
  }
  void clear() { *this = HashList(); }

 private:
  // A block to be filled next.
  void Append(Block block) {
    blocks_.push_back(std::move(block));  // which may throw, so first
    room_ += blocks_.back().size();
    next_ = blocks_.back().data();
    end_ = next_ + blocks_.back().size();
  }

  std::vector<Block> blocks_;
  size_t room_ = 0;           // hashes that fit into all of them
  uint64_t* next_ = nullptr;  // of the last one
  uint64_t* end_ = nullptr;
};

struct PartitionedHashes {
  PageVector<uint64_t> hashes;
  std::vector<size_t> begin_of_part;  // one more than there are parts; the last is hashes.size()
};

// Counting sort by part_of(hash), which must be below `parts`; the order inside a part is kept.
// Two passes; 8 bytes per hash and 8 per part. The list is gone afterwards, so that its memory can
// be used for what comes next: give it away with std::move().
template <typename PartOf>
PartitionedHashes PartitionHashes(HashList list, size_t parts, PartOf part_of) {
  PartitionedHashes result;
  std::vector<size_t>& begin = result.begin_of_part;
  begin.assign(parts + 1, 0);
  list.ForEach([&](uint64_t hash) { begin[part_of(hash) + 1]++; });
  for (size_t part = 0; part < parts; part++) begin[part + 1] += begin[part];
  result.hashes.resize(list.size());
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  list.ForEach([&](uint64_t hash) { result.hashes[next[part_of(hash)]++] = hash; });
  return result;
}

}  // namespace rocksieve
