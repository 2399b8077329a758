// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe/key_shape.h"

#include <algorithm>

namespace rocksieve {
namespace {

constexpr int kAttempts = 8;

// Evenly distributed indexes below small limits, four from each draw.
class SmallRandom {
 public:
  explicit SmallRandom(Random* random) : random_(random) {}
  size_t Below(size_t limit) {
    if (left_ == 0) {
      bits_ = (*random_)();
      left_ = 4;
    }
    const auto index = static_cast<size_t>(((bits_ & 0xFFFF) * limit) >> 16);
    bits_ >>= 16;
    left_--;
    return index;
  }

 private:
  Random* const random_;
  uint64_t bits_ = 0;
  int left_ = 0;
};

}  // namespace

void KeyShape::Learn(std::string_view before, std::string_view key, std::string_view after) {
  Learn(key);
  const auto [fewer, more] = std::minmax({CommonBytes(before, key), CommonBytes(key, after)});
  more_in_common_[fewer].push_back(more - fewer);
}

void KeyShape::Learn(std::string_view key) {
  for (size_t i = 0; i < key.size(); i++) {
    const size_t place = std::min(i, kPlaces);
    const auto byte = static_cast<uint8_t>(key[i]);
    if (seen_at_[place][byte]) continue;
    seen_at_[place][byte] = true;
    bytes_at_[place] += key[i];
  }
}

size_t KeyShape::LikelyCommonBytes(size_t common, Random* random) const {
  if (more_in_common_.empty()) return common;
  auto found = more_in_common_.lower_bound(common);
  if (found == more_in_common_.end()) found--;
  const std::vector<size_t>& more = found->second;
  return common + more[std::uniform_int_distribution<size_t>(0, more.size() - 1)(*random)];
}

const std::string& KeyShape::BytesAt(size_t place) const {
  static const std::string kIfNoneKnown = "0";
  place = std::min(place, kPlaces);
  // Beyond the longest key, as at its end.
  while (place > 0 && bytes_at_[place].empty()) place--;
  return bytes_at_[place].empty() ? kIfNoneKnown : bytes_at_[place];
}

std::string KeyShape::Variation(std::string_view like, size_t keep, std::string_view low,
                                std::string_view high, Random* random) const {
  SmallRandom small(random);
  std::string key;
  for (int attempt = 0; attempt < kAttempts; attempt++) {
    key.assign(like.substr(0, keep));
    bool fits = true;
    while (key.size() < like.size() && fits) {
      const std::string& bytes = BytesAt(key.size());
      key += bytes[small.Below(bytes.size())];
      fits = key >= low.substr(0, key.size()) && key <= high.substr(0, key.size());
    }
    if (fits) return key;
  }
  return "";
}

std::string KeyShape::Longer(std::string_view key, Random* random) const {
  SmallRandom small(random);
  std::string longer(key);
  for (size_t more = 1 + small.Below(8); more > 0; more--) {
    const std::string& bytes = BytesAt(longer.size());
    longer += bytes[small.Below(bytes.size())];
  }
  return longer;
}

}  // namespace rocksieve
