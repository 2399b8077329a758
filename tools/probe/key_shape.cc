#include "probe/key_shape.h"

#include <algorithm>

namespace rocksieve::tools {

void KeyShape::Learn(std::string_view key) {
  for (size_t i = 0; i < key.size(); i++) {
    const size_t place = std::min(i, kPlaces);
    const auto byte = static_cast<uint8_t>(key[i]);
    if (seen_at_[place][byte]) continue;
    seen_at_[place][byte] = true;
    bytes_at_[place] += key[i];
  }
}

char KeyShape::RandomByte(size_t place, Random* random) const {
  place = std::min(place, kPlaces);
  // Beyond the longest key, as at its end.
  while (place > 0 && bytes_at_[place].empty()) place--;
  const std::string& bytes = bytes_at_[place];
  if (bytes.empty()) return '0';
  return bytes[std::uniform_int_distribution<size_t>(0, bytes.size() - 1)(*random)];
}

std::string KeyShape::Variation(std::string_view like, size_t keep, Random* random) const {
  std::string key(like.substr(0, keep));
  while (key.size() < like.size()) key += RandomByte(key.size(), random);
  return key;
}

std::string KeyShape::Longer(std::string_view key, Random* random) const {
  std::string longer(key);
  const auto more = std::uniform_int_distribution<size_t>(1, 8)(*random);
  for (size_t i = 0; i < more; i++) longer += RandomByte(longer.size(), random);
  return longer;
}

}  // namespace rocksieve::tools
