// SPDX-License-Identifier: Apache-2.0
// The smallest and the largest entry of a filter, each cut to kMaxRangeKeyBytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <rocksieve/filter.h>

#include "lib/format/coding.h"

namespace rocksieve {

// Keeps at most kMaxRangeKeyBytes of a key, without allocating.
class CutKey {
 public:
  void Assign(std::string_view key) {
    size_ = std::min(key.size(), kMaxRangeKeyBytes);
    cut_ = key.size() > kMaxRangeKeyBytes;
    // Keys come in order, so nearly every one becomes the largest: two overlapping copies of a
    // fixed size instead of a call of memcpy.
    static_assert(kMaxRangeKeyBytes == 32);
    if (size_ >= 16) {
      std::memcpy(bytes_, key.data(), 16);
      std::memcpy(bytes_ + size_ - 16, key.data() + size_ - 16, 16);
    } else if (size_ >= 8) {
      std::memcpy(bytes_, key.data(), 8);
      std::memcpy(bytes_ + size_ - 8, key.data() + size_ - 8, 8);
    } else {
      for (size_t i = 0; i < size_; i++) bytes_[i] = key[i];
    }
  }
  std::string_view view() const { return {bytes_, size_}; }
  bool cut() const { return cut_; }

 private:
  char bytes_[kMaxRangeKeyBytes];
  size_t size_ = 0;
  bool cut_ = false;
};

// Grows to cover every key that it is shown; in bytewise order.
class KeyRange {
 public:
  void Cover(std::string_view key) {
    const uint64_t head = FirstEightBytes(key);
    if (head > smallest_head_ && head < largest_head_) return;
    CoverSlowly(key, head);
  }
  std::string_view smallest() const { return smallest_.view(); }
  std::string_view largest() const { return largest_.view(); }
  bool largest_cut() const { return largest_.cut(); }

 private:
  // As a number that sorts like the key; missing bytes are 0.
  static uint64_t FirstEightBytes(std::string_view key) {
    if (key.size() >= 8) return __builtin_bswap64(LoadLittleEndian64(key.data()));
    uint64_t head = 0;
    for (size_t i = 0; i < key.size(); i++) {
      head |= uint64_t{static_cast<uint8_t>(key[i])} << (56 - 8 * i);
    }
    return head;
  }

  void CoverSlowly(std::string_view key, uint64_t head) {
    const std::string_view cut = key.substr(0, kMaxRangeKeyBytes);
    const bool new_largest = head > largest_head_ || cut > largest_.view() ||
                             (cut == largest_.view() && !largest_.cut());
    if (empty_ || new_largest) {
      largest_.Assign(key);
      largest_head_ = head;
      if (!empty_) return;  // of keys in their order, this is all
    }
    if (empty_ || head < smallest_head_ || cut < smallest_.view()) {
      smallest_.Assign(key);
      smallest_head_ = head;
    }
    empty_ = false;
  }

  bool empty_ = true;
  uint64_t smallest_head_ = 0, largest_head_ = 0;
  CutKey smallest_, largest_;
};

}  // namespace rocksieve
