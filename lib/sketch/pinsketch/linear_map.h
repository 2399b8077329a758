// SPDX-License-Identifier: Apache-2.0
// A linear map of a field of up to 20 bits, by two tables: of the lower half of an element's bits,
// and of the upper one. Products by a constant, squares, traces are such maps.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rocksieve::pinsketch {

class LinearMap {
 public:
  // `images`: of the basis 1, x, x^2 ..
  void Make(std::span<const uint32_t> images) {
    low_[0] = high_[0] = 0;
    for (uint32_t a = 1; a < kHalf; a++) {
      const auto bit = static_cast<size_t>(std::countr_zero(a));
      low_[a] = bit < images.size() ? low_[a & (a - 1)] ^ images[bit] : 0;
      const size_t upper = bit + kHalfBits;
      high_[a] = upper < images.size() ? high_[a & (a - 1)] ^ images[upper] : 0;
    }
  }
  uint32_t Of(uint32_t a) const { return low_[a & (kHalf - 1)] ^ high_[a >> kHalfBits]; }

 private:
  static constexpr int kHalfBits = 10;
  static constexpr uint32_t kHalf = uint32_t{1} << kHalfBits;
  uint32_t low_[kHalf], high_[kHalf];
};

}  // namespace rocksieve::pinsketch
