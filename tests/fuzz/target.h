// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: how a finding is told, and how the bytes of an input become choices.
//
// A target is a function, FUZZ_TARGET(NAME), in the program fuzz_NAME with all others of its
// libraries: libFuzzer calls it (`./run fuzz`), or driver.cc (`./run test`). It returns whatever the
// bytes are; a finding is an abort, a report of a sanitizer, too much memory or too much time. Each
// call stands alone, so that an input is all that it takes to repeat a finding.
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

#if defined(__SANITIZE_ADDRESS__)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ROCKSIEVE_ADDRESS_SANITIZER 1
#endif
#endif

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace rocksieve::fuzz {

struct Target {
  Target(std::string_view name, void (*run)(std::string_view input));
};

// Is followed by the function's body, to which `input` is in a heap block of just its size.
#define FUZZ_TARGET(name)                                                 \
  static void Run_##name(std::string_view input);                         \
  static const rocksieve::fuzz::Target kTarget_##name(#name, Run_##name); \
  static void Run_##name(std::string_view input)

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

// Heap memory as the allocator has it, held to a limit in each allocation, so that the stack of the
// one that broke it is in the report. Sees what malloc and operator new give, whoever calls them,
// where the address sanitizer is there to tell; else nothing.
class MemoryWatch {
 public:
  // From here on, at most so many bytes more than now. One at a time.
  explicit MemoryWatch(size_t most_more_bytes);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;
};

}  // namespace rocksieve::fuzz
