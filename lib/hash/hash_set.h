// SPDX-License-Identifier: Apache-2.0
// The hashes that a builder has collected, and their division into parts that fit a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "lib/memory/page_pool.h"

namespace rocksieve {

// Grows without ever holding two copies of what it has: each block has room for a 16th of all
// before it, so that there are few of them.
class HashList {
  using Block = PageVector<uint64_t>;

 public:
  using value_type = uint64_t;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = uint64_t;
    using difference_type = ptrdiff_t;
    using pointer = const uint64_t*;
    using reference = const uint64_t&;

    Iterator() = default;
    reference operator*() const { return *at_; }
    Iterator& operator++() {
      if (++at_ == end_) Enter(block_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    friend class HashList;
    Iterator(const Block* block, const Block* last) : last_(last) { Enter(block); }
    // No block is empty.
    void Enter(const Block* block) {
      block_ = block;
      at_ = block == last_ ? nullptr : block->data();
      end_ = block == last_ ? nullptr : at_ + block->size();
    }

    const Block* block_ = nullptr;
    const Block* last_ = nullptr;
    const uint64_t* at_ = nullptr;
    const uint64_t* end_ = nullptr;
  };
  using const_iterator = Iterator;

  HashList() = default;
  template <typename Input>
  HashList(Input begin, Input end) {
    for (; begin != end; ++begin) push_back(*begin);
  }
  explicit HashList(Block hashes) : size_(hashes.size()) {
    if (!hashes.empty()) blocks_.push_back(std::move(hashes));
  }
  HashList(const HashList&) = default;
  HashList& operator=(const HashList&) = default;
  HashList(HashList&& other) noexcept { *this = std::move(other); }
  HashList& operator=(HashList&& other) noexcept {
    blocks_ = std::exchange(other.blocks_, {});
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // REQUIRES: !empty().
  uint64_t back() const { return blocks_.back().back(); }
  Iterator begin() const { return {blocks_.data(), blocks_.data() + blocks_.size()}; }
  Iterator end() const { return {}; }

  void push_back(uint64_t hash) {
    if (blocks_.empty() || blocks_.back().size() == blocks_.back().capacity()) AddBlock();
    blocks_.back().push_back(hash);
    size_++;
  }
  void clear() { *this = HashList(); }

 private:
  void AddBlock() {
    constexpr size_t kLeast = 64;
    blocks_.emplace_back().reserve(size_ / 16 > kLeast ? size_ / 16 : kLeast);
  }

  std::vector<Block> blocks_;
  size_t size_ = 0;
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
  for (uint64_t hash : list) begin[part_of(hash) + 1]++;
  for (size_t part = 0; part < parts; part++) begin[part + 1] += begin[part];
  result.hashes.resize(list.size());
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  for (uint64_t hash : list) result.hashes[next[part_of(hash)]++] = hash;
  return result;
}

}  // namespace rocksieve
