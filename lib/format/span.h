// SPDX-License-Identifier: Apache-2.0
// A view of elements that lie in a row: std::span, which C++17 lacks.
//
// All that RocksDB loads is C++17, since RocksDB up to 10.6 compiles it as that inside of its own
// tree. A std::span converts to and from it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace rocksieve {

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

}  // namespace rocksieve
