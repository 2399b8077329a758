// SPDX-License-Identifier: Apache-2.0
// What several tests need: keys, filters, and a fixed source of randomness.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rocksieve/filter.h>

namespace rocksieve {

inline FilterSpec Spec(std::string_view text) {
  FilterSpec spec;
  const std::string error = FilterSpec::Parse(text, &spec);
  EXPECT_EQ(error, "");
  return spec;
}

inline std::vector<std::string> NumberedKeys(size_t count, std::string_view prefix = "key") {
  std::vector<std::string> keys;
  keys.reserve(count);
  for (size_t i = 0; i < count; i++) keys.push_back(std::string(prefix) + std::to_string(i));
  return keys;
}

// Eight bytes, the most significant one first: such keys are in the order of their numbers.
inline std::string BigEndian(uint64_t number) {
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  return key;
}

inline FilterBlock BuildFilter(const FilterSpec& spec, const std::vector<std::string>& keys) {
  FilterBuilder builder(spec);
  for (const std::string& key : keys) builder.AddKey(key);
  return builder.Finish();
}

// A copy on the heap of exactly the block's size, so that the address sanitizer sees reads outside.
class ExactCopy {
 public:
  explicit ExactCopy(std::string_view bytes) : size_(bytes.size()), data_(new char[size_]) {
    bytes.copy(data_.get(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }
  char& operator[](size_t at) { return data_[at]; }

 private:
  size_t size_;
  std::unique_ptr<char[]> data_;
};

}  // namespace rocksieve
