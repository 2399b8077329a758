// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/key_scale.h"

#include <algorithm>
#include <bitset>

namespace rocksieve {
namespace {

// More would be lost in rounding.
constexpr size_t kMaxDigits = 12;
constexpr double kSmallestUnit = 1e-15;

using ByteSet = std::bitset<256>;

ByteSet BytesOf(std::string_view from_to_pairs) {
  ByteSet set;
  for (size_t i = 0; i + 1 < from_to_pairs.size(); i += 2) {
    for (int byte = from_to_pairs[i]; byte <= from_to_pairs[i + 1]; byte++) set.set(byte);
  }
  return set;
}

// The smallest of the usual alphabets that holds all of them, else every byte.
ByteSet AlphabetOf(const ByteSet& seen) {
  static const ByteSet alphabets[] = {BytesOf("09"),   BytesOf("09af"),   BytesOf("09AF"),
                                      BytesOf("az"),   BytesOf("AZ"),     BytesOf("09az"),
                                      BytesOf("09AZ"), BytesOf("09AZaz"), BytesOf(" ~")};
  for (const ByteSet& alphabet : alphabets) {
    if ((seen & ~alphabet).none()) return alphabet;
  }
  return ByteSet().set();
}

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const auto end = std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin());
  return static_cast<size_t>(end.first - a.begin());
}

}  // namespace

KeyScale::KeyScale(const std::vector<std::string_view>& sample) {
  if (sample.empty()) return;
  const auto [least, most] = std::minmax_element(sample.begin(), sample.end());
  prefix_size_ = CommonPrefix(*least, *most);
  double unit = 1;
  for (size_t i = 0; i < kMaxDigits && unit > kSmallestUnit; i++) {
    ByteSet seen;
    bool some_end = false;
    for (const std::string_view key : sample) {
      if (key.size() > prefix_size_ + i) {
        seen.set(static_cast<uint8_t>(key[prefix_size_ + i]));
      } else {
        some_end = true;
      }
    }
    if (seen.none()) break;
    // A byte that is the same in all keys separates nothing.
    const ByteSet alphabet = seen.count() == 1 ? seen : AlphabetOf(seen);
    // An ended key sorts before all others, which takes a value of its own.
    uint8_t value = some_end ? 1 : 0;
    Digit digit;
    for (int byte = 0; byte < 256; byte++) {
      digit.value[byte] = value;
      if (alphabet[byte] && value < 255) value++;
    }
    const size_t base = alphabet.count() + (some_end ? 1 : 0);
    unit /= static_cast<double>(base);
    digit.unit = unit;
    digits_.push_back(digit);
  }
}

double KeyScale::PositionOf(std::string_view key) const {
  double position = 0;
  for (size_t i = 0; i < digits_.size() && prefix_size_ + i < key.size(); i++) {
    position += digits_[i].unit * digits_[i].value[static_cast<uint8_t>(key[prefix_size_ + i])];
  }
  return position;
}

}  // namespace rocksieve
