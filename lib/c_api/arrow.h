// SPDX-License-Identifier: Apache-2.0
// What the functions of rocksieve/c_arrow.h share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <rocksieve/c_arrow.h>

#include "lib/arrow/key_column.h"
#include "lib/c_api/errors.h"

namespace rocksieve {

// Calls `add` for each key, as long as it returns true.
template <typename Add>
unsigned char AddArrow(const void* object, const ArrowSchema* schema, const ArrowArray* array,
                       const char* column, char** error, const Add& add) {
  if (object == nullptr) return FailForC("there is nothing to add keys to", error);
  return WithoutThrowing<unsigned char>(0, error, [&]() -> unsigned char {
    const arrow::KeyColumn keys(schema, array, column);
    for (int64_t i = 0; i < keys.size(); i++) {
      const auto key = keys.At(i);
      if (key.has_value() && !add(*key)) return 0;
    }
    return 1;
  });
}

// `answer` gets up to kKeysTogether keys, their number and room for as many answers.
inline constexpr size_t kKeysTogether = 64;

template <typename Answer>
unsigned char AnswerArrow(const void* object, const ArrowSchema* schema, const ArrowArray* array,
                          const char* column, uint8_t* bits, size_t first_bit, char** error,
                          const Answer& answer) {
  if (object == nullptr || bits == nullptr) {
    return FailForC("there is no filter, or no place for the answers", error);
  }
  return WithoutThrowing<unsigned char>(0, error, [&]() -> unsigned char {
    const arrow::KeyColumn column_of_keys(schema, array, column);
    std::string_view keys[kKeysTogether];
    size_t bit_of[kKeysTogether];
    bool may_contain[kKeysTogether];
    size_t waiting = 0;
    const auto set = [&](size_t bit, bool on) {
      const auto mask = static_cast<uint8_t>(1u << (bit % 8));
      bits[bit / 8] = static_cast<uint8_t>(on ? bits[bit / 8] | mask : bits[bit / 8] & ~mask);
    };
    const auto ask = [&] {
      answer(keys, waiting, may_contain);
      for (size_t k = 0; k < waiting; k++) set(bit_of[k], may_contain[k]);
      waiting = 0;
    };
    for (int64_t i = 0; i < column_of_keys.size(); i++) {
      const size_t bit = first_bit + static_cast<size_t>(i);
      const auto key = column_of_keys.At(i);
      if (!key.has_value()) {
        set(bit, false);
        continue;
      }
      keys[waiting] = *key;
      bit_of[waiting++] = bit;
      if (waiting == kKeysTogether) ask();
    }
    ask();
    return 1;
  });
}

}  // namespace rocksieve
