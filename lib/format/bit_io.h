// SPDX-License-Identifier: Apache-2.0
// Numbers of any width from 0 to 64 bits, one after another: the first bit is the lowest of the
// first byte. The last byte is filled up with zeros, and a reader insists on that.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/format/coding.h"

namespace rocksieve {

class BitWriter {
 public:
  // Appends to *out, which must outlive the writer and is incomplete until Finish().
  explicit BitWriter(std::string* out) : out_(out) {}

  // Appends the low `bits` bits of a value that has no others. REQUIRES: 0 <= bits <= 64.
  void Put(uint64_t value, int bits) {
    pending_ |= value << pending_bits_;
    if (pending_bits_ + bits >= 64) {
      AppendPending(8);
      // A shift by 64 is undefined: it happens if nothing was pending and all 64 bits went out.
      pending_ = pending_bits_ == 0 ? 0 : value >> (64 - pending_bits_);
      pending_bits_ += bits - 64;
    } else {
      pending_bits_ += bits;
    }
  }

  // `ones` bits 1 and one bit 0.
  void PutUnary(uint64_t ones) {
    for (; ones >= 32; ones -= 32) Put(0xffffffff, 32);
    Put((uint64_t{1} << ones) - 1, static_cast<int>(ones) + 1);
  }

  // Writes what is left; call it once, last.
  void Finish() {
    AppendPending(static_cast<size_t>(pending_bits_ + 7) / 8);
    pending_ = 0;
    pending_bits_ = 0;
  }

 private:
  void AppendPending(size_t bytes) {
    char buffer[8];
    StoreLittleEndian64(buffer, pending_);
    out_->append(buffer, bytes);
  }

  std::string* out_;
  uint64_t pending_ = 0;  // below bit pending_bits_, which is always below 64
  int pending_bits_ = 0;
};

// Remembers that it was asked for more than there is; from then on it gives zeros.
class BitReader {
 public:
  explicit BitReader(std::string_view bytes) : bytes_(bytes) {}

  // REQUIRES: 0 <= bits <= 64.
  uint64_t Take(int bits) {
    if (static_cast<uint64_t>(bits) > remaining_bits()) {
      Fail();
      return 0;
    }
    const int skip = static_cast<int>(position_ & 7);
    uint64_t value = WordAt(position_ / 8) >> skip;
    if (bits > 64 - skip) {  // so skip > 0, and a ninth byte is there
      value |= uint64_t{static_cast<uint8_t>(bytes_[position_ / 8 + 8])} << (64 - skip);
    }
    position_ += static_cast<uint64_t>(bits);
    return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
  }

  // The number of bits 1 before the next bit 0, which is taken as well. Fails above `most`.
  uint64_t TakeUnary(uint64_t most) {
    uint64_t ones = 0;
    for (;;) {
      const uint64_t available = std::min<uint64_t>(remaining_bits(), 64 - (position_ & 7));
      const uint64_t word = WordAt(position_ / 8) >> (position_ & 7);
      const uint64_t ones_here = ~word == 0 ? 64 : static_cast<uint64_t>(__builtin_ctzll(~word));
      const uint64_t run = std::min(ones_here, available);
      ones += run;
      if (available == 0 || ones > most) {
        Fail();
        return 0;
      }
      position_ += run;
      if (run == available) continue;
      position_ += 1;
      return ones;
    }
  }

  uint64_t remaining_bits() const { return bytes_.size() * 8 - position_; }
  // Bytes of which at least a bit was taken.
  size_t bytes_taken() const { return (position_ + 7) / 8; }
  // The rest of the byte that was begun is zeros, as BitWriter::Finish leaves it.
  bool PaddingIsZero() const {
    return position_ % 8 == 0 ||
           static_cast<uint8_t>(bytes_[position_ / 8]) >> (position_ % 8) == 0;
  }
  bool ok() const { return ok_; }
  // All was well, and nothing is left.
  bool Finished() const { return ok_ && bytes_taken() == bytes_.size() && PaddingIsZero(); }

 private:
  void Fail() {
    ok_ = false;
    bytes_ = {};
    position_ = 0;
  }
  uint64_t WordAt(size_t byte) const {
    if (byte + 8 <= bytes_.size()) return LoadLittleEndian64(bytes_.data() + byte);
    char buffer[8] = {};
    if (byte < bytes_.size()) std::memcpy(buffer, bytes_.data() + byte, bytes_.size() - byte);
    return LoadLittleEndian64(buffer);
  }

  std::string_view bytes_;
  uint64_t position_ = 0;  // in bits
  bool ok_ = true;
};

}  // namespace rocksieve
