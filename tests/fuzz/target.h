// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: how a finding is told, and how the bytes of an input become choices.
//
// A target is a file with one function, LLVMFuzzerTestOneInput: libFuzzer calls it (`./run fuzz`),
// or driver.cc (`./run test`). It returns 0 whatever the bytes are; a finding is an abort, a report
// of a sanitizer, too much memory or too much time. Each call stands alone, so that an input is all
// that it takes to repeat a finding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace rocksieve::fuzz {

[[noreturn]] inline void Fail(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  std::abort();
}

// What must hold for any input.
#define FUZZ_CHECK(condition) \
  ((condition) ? void() : rocksieve::fuzz::Fail(__FILE__, __LINE__, #condition))

// Keeps the compiler from leaving out what computes a value that nobody reads.
template <typename T>
void Use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Bytes in a heap block of just their size, so that a sanitizer sees each read beyond them.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes) : size_(bytes.size()), data_(new char[bytes.size()]) {
    if (size_ > 0) std::memcpy(data_.get(), bytes.data(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  const size_t size_;
  const std::unique_ptr<char[]> data_;
};

// Choices from the front of an input; at its end all of them are 0, so that each input is one.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}
  explicit Choices(std::string_view bytes) : rest_(bytes) {}

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  bool Flag() { return (Byte() & 1) != 0; }
  // One to eight bytes, as many as `most` needs. 0 to `most`, `most` included.
  uint64_t UpTo(uint64_t most) {
    uint64_t value = 0;
    for (uint64_t left = most; left > 0; left >>= 8) value = value << 8 | Byte();
    return most == UINT64_MAX ? value : value % (most + 1);
  }
  uint64_t Number() { return UpTo(UINT64_MAX); }
  std::string_view Bytes(size_t count) {
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // A byte with the length, 255 for two bytes more of it; then as many as there are.
  std::string_view String() {
    size_t length = Byte();
    if (length == 255) length = UpTo(0xFFFF);
    return Bytes(length);
  }
  std::string_view Rest() { return Bytes(rest_.size()); }
  bool empty() const { return rest_.empty(); }
  size_t remaining() const { return rest_.size(); }

 private:
  std::string_view rest_;
};

}  // namespace rocksieve::fuzz
