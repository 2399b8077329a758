// Makes keys that look like others.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probe/key_space.h"

namespace rocksieve::tools {

// Learns which bytes keys have at which place.
class KeyShape {
 public:
  void Learn(std::string_view key);

  // A key that has the first `keep` bytes of `like`, its length, and other bytes as the keys
  // learned so far have them.
  std::string Variation(std::string_view like, size_t keep, Random* random) const;

  // The key, and one to eight bytes more.
  std::string Longer(std::string_view key, Random* random) const;

 private:
  static constexpr size_t kPlaces = 64;  // all further ones are taken together

  char RandomByte(size_t place, Random* random) const;

  // In the order of their first appearance.
  std::array<std::string, kPlaces + 1> bytes_at_;
  std::array<std::bitset<256>, kPlaces + 1> seen_at_;
};

}  // namespace rocksieve::tools
