// SPDX-License-Identifier: Apache-2.0
// Keys of a column that somebody gives by Arrow's C data interface.
//
// Source of all layouts: https://arrow.apache.org/docs/format/Columnar.html, CDataInterface.html.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rocksieve/c_arrow.h>

namespace rocksieve::arrow {

// Of an array, which must outlive it.
class KeyColumn {
 public:
  // `column` as rocksieve/c_arrow.h has it. Throws std::invalid_argument for what is no column of
  // keys, and for offsets that lie: what is within the array's buffers is as long as they say.
  KeyColumn(const ArrowSchema* schema, const ArrowArray* array, const char* column);

  int64_t size() const { return size_; }

  // Nothing if it is null. REQUIRES: 0 <= i < size()
  std::optional<std::string_view> At(int64_t i) const {
    i += outer_offset_;
    if (!IsValid(outer_validity_, i)) return std::nullopt;
    i += offset_;
    if (layout_ == Layout::kNulls || !IsValid(validity_, i)) return std::nullopt;
    switch (layout_) {
      case Layout::kFixed:
        return std::string_view(data_ + i * width_, static_cast<size_t>(width_));
      case Layout::kOffsets32:
        return Between(offsets32_[i], offsets32_[i + 1]);
      case Layout::kOffsets64:
        return Between(offsets64_[i], offsets64_[i + 1]);
      default:
        return View(i);
    }
  }

 private:
  enum class Layout { kNulls, kFixed, kOffsets32, kOffsets64, kViews };

  static bool IsValid(const uint8_t* bits, int64_t i) {
    return bits == nullptr || (bits[i / 8] >> (i % 8) & 1) != 0;
  }
  std::string_view Between(int64_t begin, int64_t end) const {
    return {data_ + begin, static_cast<size_t>(end - begin)};
  }
  std::string_view View(int64_t i) const;
  void TakeLayout(const ArrowSchema& schema, const ArrowArray& array);
  template <typename Offset>
  void CheckOffsets(const Offset* offsets, int64_t first, int64_t last) const;
  void CheckViews(const ArrowArray& array, int64_t first, int64_t last) const;

  int64_t size_;
  int64_t outer_offset_ = 0;  // of the struct
  const uint8_t* outer_validity_ = nullptr;
  int64_t offset_ = 0;
  const uint8_t* validity_ = nullptr;
  Layout layout_ = Layout::kNulls;
  int64_t width_ = 0;
  union {
    const int32_t* offsets32_ = nullptr;
    const int64_t* offsets64_;
  };
  const char* data_ = nullptr;           // of views: 16 bytes each
  const void* const* blocks_ = nullptr;  // of views
};

}  // namespace rocksieve::arrow
