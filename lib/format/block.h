// SPDX-License-Identifier: Apache-2.0
// The frame of a filter block, and the smallest and the largest entry that it has, each cut to
// kMaxRangeKeyBytes.
#pragma once

#include <algorithm>
#include <cstddef>
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
    const uint64_t head = NumberAt(key, 0, 8);
    if (head > largest_head_) {  // of keys in their order, this is all
      largest_.Assign(key);
      largest_head_ = head;
    } else if (head <= smallest_head_ || head == largest_head_) {
      CoverSlowly(key, head);
    }
  }
  std::string_view smallest() const { return smallest_.view(); }
  std::string_view largest() const { return largest_.view(); }
  bool largest_cut() const { return largest_.cut(); }

 private:
  [[gnu::noinline]] void CoverSlowly(std::string_view key, uint64_t head) {
    const std::string_view cut = key.substr(0, kMaxRangeKeyBytes);
    const bool new_largest = head > largest_head_ || cut > largest_.view() ||
                             (cut == largest_.view() && !largest_.cut());
    if (empty_ || new_largest) {
      largest_.Assign(key);
      largest_head_ = head;
      if (!empty_) return;
    }
    if (empty_ || head < smallest_head_ || cut < smallest_.view()) {
      smallest_.Assign(key);
      smallest_head_ = head;
    }
    empty_ = false;
  }

  bool empty_ = true;
  // As long as it is empty, no head is beyond them.
  uint64_t smallest_head_ = UINT64_MAX, largest_head_ = UINT64_MAX;
  CutKey smallest_, largest_;
};

// The frame that every filter block of ours has around its family's payload: the full one, or the
// compact one, of filters of some thousand keys, where 30 bytes less are felt. Its trailer makes
// every release of RocksDB's own reader answer "may match", so a database with our filters stays
// readable without us. docs/formats/block.md has both, and why.

enum class FrameVersion : uint8_t { kFull = 1, kCompact = 2 };

inline constexpr size_t kBlockHeaderBytes = 16;  // of the full frame
inline constexpr size_t kBlockTailBytes = 19;    // of the full frame, without salt and range keys
inline constexpr size_t kCompactHeaderBytes = 8;
inline constexpr size_t kCompactTailBytes = 20;
inline constexpr size_t kBlockSaltBytes = 8;
// What the compact frame keeps of the smallest and the largest entry, where they begin to differ.
inline constexpr size_t kCompactRangeBytes = 3;

// Readers of any version call shorter blocks damaged, so no writer makes one.
inline constexpr size_t kLeastBlockBytes = kBlockHeaderBytes + kBlockTailBytes;

// Payload readers may read this many bytes beyond the payload: the tail is always there.
inline constexpr size_t kReadableBytesPastPayload = kBlockTailBytes;
static_assert(kCompactTailBytes >= kReadableBytesPastPayload);

// Takes a block apart. Reads nothing outside of it. The payload is not looked at, but its bytes are
// covered by the check word. `knows`: whether this version has a family.
BlockState ParseBlock(std::string_view block, bool (*knows)(Family family), FilterBlockInfo* info);

inline constexpr size_t HeaderBytes(FrameVersion version) {
  return version == FrameVersion::kFull ? kBlockHeaderBytes : kCompactHeaderBytes;
}

// Bytes of a block around its payload, without the range or with it.
size_t FrameBytesWithoutRange(FrameVersion version, bool salted);
size_t FrameBytes(FrameVersion version, bool salted, const KeyRange& range);

// Writes everything around a payload that already stands at block + HeaderBytes(version).
// REQUIRES: `block` has room for info.payload.size() + FrameBytes(version, info.salted, range)
// bytes; if compact, the key count is below 2^16. Of `info`, the range fields are ignored: `range`
// is written. Returns the block's size.
size_t SealBlock(FrameVersion version, const FilterBlockInfo& info, const KeyRange& range,
                 char* block);

}  // namespace rocksieve
