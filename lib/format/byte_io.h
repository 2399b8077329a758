// SPDX-License-Identifier: Apache-2.0
// Messages as bytes, for what goes over a wire: numbers little-endian, lengths as varints.
//
// A ByteReader remembers that something was wrong. Read on as if nothing had happened (what fails
// gives 0 or an empty string), and ask ok() or Finished() once at the end, before using any of it:
//
//   ByteReader in(message);
//   const uint64_t count = in.Varint(kMostKeys);
//   const std::string_view filter = in.String(kMostFilterBytes);
//   if (!in.Finished()) return false;
//
// A varint is LEB128: seven bits a byte, the lowest first, the top bit on all bytes but the last.
// Only the shortest form is read, so that equal values have equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/format/coding.h"

namespace rocksieve {

inline constexpr size_t kMaxVarintBytes = 10;

class ByteWriter {
 public:
  // Appends to *out, which must outlive the writer.
  explicit ByteWriter(std::string* out) : out_(out) {}

  void U8(uint8_t value) { out_->push_back(static_cast<char>(value)); }
  void U32(uint32_t value) {
    char bytes[sizeof(value)];
    StoreLittleEndian32(bytes, value);
    out_->append(bytes, sizeof(bytes));
  }
  void U64(uint64_t value) {
    char bytes[sizeof(value)];
    StoreLittleEndian64(bytes, value);
    out_->append(bytes, sizeof(bytes));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) U8(static_cast<uint8_t>(value | 0x80));
    U8(static_cast<uint8_t>(value));
  }
  // Without a length: the reader must know it.
  void Bytes(std::string_view bytes) { out_->append(bytes); }
  // A varint with the length, then the bytes.
  void String(std::string_view bytes) {
    Varint(bytes.size());
    Bytes(bytes);
  }

  // For what appends by itself, such as a BitWriter.
  std::string* out() { return out_; }

 private:
  std::string* out_;
};

// Nothing is copied: the strings that it returns point into the message.
class ByteReader {
 public:
  explicit ByteReader(std::string_view message) : rest_(message) {}

  uint8_t U8() {
    if (!Has(1)) return 0;
    const uint8_t value = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  uint32_t U32() {
    if (!Has(4)) return 0;
    const uint32_t value = LoadLittleEndian32(rest_.data());
    rest_.remove_prefix(4);
    return value;
  }
  uint64_t U64() {
    if (!Has(8)) return 0;
    const uint64_t value = LoadLittleEndian64(rest_.data());
    rest_.remove_prefix(8);
    return value;
  }
  // Fails above `largest`: give the limit that the caller is ready to work or to allocate for.
  uint64_t Varint(uint64_t largest = UINT64_MAX) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const uint8_t byte = U8();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) break;  // beyond 64 bits
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte & 0x80) continue;
      if ((byte == 0 && shift > 0) || value > largest) break;
      return value;
    }
    Fail();
    return 0;
  }
  std::string_view Bytes(uint64_t count) {
    if (!Has(count)) return {};
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  std::string_view String(uint64_t most_bytes = UINT64_MAX) { return Bytes(Varint(most_bytes)); }
  // All that is left.
  std::string_view Rest() { return Bytes(rest_.size()); }

  size_t remaining() const { return rest_.size(); }
  // Looks at what is left without taking it.
  std::string_view Peek() const { return rest_; }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  // All was well, and nothing is left.
  bool Finished() const { return ok_ && rest_.empty(); }

 private:
  bool Has(uint64_t bytes) {
    if (bytes <= rest_.size() && ok_) return true;
    Fail();
    return false;
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace rocksieve
