// Packs slots of a few bits each, one after another, into a buffer that grows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/format/coding.h"

namespace rocksieve::cuckoo {

class SlotWriter {
 public:
  // The slots stand between bytes_before and bytes_after other bytes, which are the caller's.
  SlotWriter(size_t bytes_before, size_t expected_slot_bytes, size_t bytes_after)
      : before_(bytes_before), after_(bytes_after) {
    Reserve(expected_slot_bytes);
  }

  // Appends the low `bits` bits of a value that has no others. REQUIRES: 0 < bits <= 64.
  void Append(uint64_t value, int bits) {
    pending_ |= value << pending_bits_;
    if (pending_bits_ + bits >= 64) {
      Flush();
      // A shift by 64 is undefined: it happens if nothing was pending and all 64 bits went out.
      pending_ = pending_bits_ == 0 ? 0 : value >> (64 - pending_bits_);
      pending_bits_ += bits - 64;
    } else {
      pending_bits_ += bits;
    }
  }

  // Writes what is left, and returns the number of bytes of all slots; call it once, last.
  size_t Finish() {
    const size_t bytes = size_ + static_cast<size_t>(pending_bits_ + 7) / 8;
    Flush();
    return bytes;
  }

  char* data() { return data_.get(); }
  std::unique_ptr<char[]> Release() { return std::move(data_); }

 private:
  void Flush() {
    if (size_ + 8 > capacity_) Reserve(size_ + 8 + capacity_ / 4);
    StoreLittleEndian64(data_.get() + before_ + size_, pending_);
    size_ += 8;
  }

  void Reserve(size_t slot_bytes) {
    std::unique_ptr<char[]> grown(new char[before_ + slot_bytes + after_]());
    if (data_ != nullptr) std::memcpy(grown.get(), data_.get(), before_ + size_);
    data_ = std::move(grown);
    capacity_ = slot_bytes;
  }

  const size_t before_, after_;
  size_t capacity_ = 0, size_ = 0;
  uint64_t pending_ = 0;
  int pending_bits_ = 0;
  std::unique_ptr<char[]> data_;
};

}  // namespace rocksieve::cuckoo
