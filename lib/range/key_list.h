// SPDX-License-Identifier: Apache-2.0
// The keys of one filter, kept until it is known how they are best cut.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/range/cells.h"

namespace rocksieve::range {

// Keys come mostly in ascending order and are kept without the bytes that they share with the one
// before. Others are kept as they are, and sorted by Sort(). Memory: two bytes per key more than
// what they do not share.
class KeyList {
 public:
  void Add(std::string_view key);

  // Keys that are there, adjacent duplicates counted once.
  uint64_t size() const { return size_; }

  // Sorts, and drops duplicates, if that is needed. All below REQUIRES it.
  void Sort();

  std::string_view first() const { return first_; }
  std::string_view last() const { return last_; }
  size_t shortest() const { return shortest_; }
  size_t longest() const { return longest_; }
  // Bytes that all begin with.
  size_t common_prefix() const { return size_ == 0 ? 0 : CommonPrefix(first_, last_); }
  // Keys that differ in their first `depth` bytes, 0 to kMaxDepth.
  uint64_t DistinctAt(size_t depth) const;

  // Calls visit(key, shared) in ascending order; `shared` are the bytes that the key has in common
  // with the one before, 0 for the first.
  template <typename Visit>
  void ForEach(Visit visit) const {
    std::string key;
    for (size_t at = 0; at < bytes_.size();) {
      const size_t shared = ReadLength(&at), rest = ReadLength(&at);
      key.resize(shared);
      key.append(bytes_, at, rest);
      at += rest;
      visit(std::string_view(key), shared);
    }
  }

  void Clear() { *this = KeyList(); }

 private:
  void AppendLength(size_t length);
  size_t ReadLength(size_t* at) const;

  std::string bytes_;  // of each key: length shared and length of the rest, as varints, the rest
  std::string first_, last_;
  uint64_t size_ = 0;
  size_t shortest_ = SIZE_MAX, longest_ = 0;
  bool sorted_ = true;
  std::array<uint64_t, kMaxDepth + 1> differ_at_{};  // keys by the bytes that they share
};

}  // namespace rocksieve::range
