// SPDX-License-Identifier: Apache-2.0
// What a family is asked for, the amount of a spec, and what it makes of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace rocksieve {

// A view of elements that lie in a row: std::span, which C++17 lacks.
//
// All that RocksDB loads is C++17, since RocksDB up to 10.6 compiles it as that inside of its own
// tree. A std::span converts to and from it.

// The elements must outlive it.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  constexpr Span(T* begin, T* end) : Span(begin, static_cast<size_t>(end - begin)) {}
  template <size_t kSize>
  constexpr Span(T (&elements)[kSize]) : Span(elements, kSize) {}  // NOLINT: implicit
  // Of a vector, an array, or a span, of the elements themselves or as constants.
  template <typename Container, typename = std::enable_if_t<std::is_convertible_v<
                                    decltype(std::declval<Container&>().data()), T*>>>
  constexpr Span(Container&& elements)  // NOLINT: implicit, as std::span has it
      : Span(elements.data(), elements.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t i) const { return data_[i]; }
  constexpr T& back() const { return data_[size_ - 1]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// What surrounds the keys' own bits (the frame of a block, a directory) counts against a budget
// given in bits per key, but in small filters it must not eat what the keys need: at most this
// share.
inline constexpr double kLargestOverheadShare = 0.03;

// Blocks stay below 4 GiB: RocksDB's own reader keeps sizes in 32 bits, and would take bytes from
// the middle of a larger block for its end.
inline constexpr uint64_t kMaxPayloadBytes = (uint64_t{1} << 32) - 4096;

struct Budget {
  bool is_rate = false;
  double amount = 10;     // bits per key; or the false-positive rate, 0 to 1
  double factor = 1;      // times the memory that `amount` would take
  double frame_bits = 0;  // of the block, around the payload
  bool thorough = false;  // a slower build for a lower rate
  bool fast = false;      // the reverse, of families that have it
  bool compact = false;   // the block gets the compact frame, its payload a compact head

  // REQUIRES: !is_rate.
  double PayloadBits(uint64_t keys) const {
    const double bits = factor * amount * static_cast<double>(keys);
    return bits - std::min(frame_bits, kLargestOverheadShare * bits);
  }
};

struct Payload {
  // The payload begins `head_room` bytes into `data`, and `tail_room` bytes follow it.
  std::unique_ptr<char[]> data;
  size_t size = 0;
  uint8_t parameter = 0;  // of the block
};

}  // namespace rocksieve
