// SPDX-License-Identifier: Apache-2.0
// Makes keys that look like those of a database.
//
// Two things are learned of them. Which bytes they have at which place: digits stay digits, dashes
// dashes. And how alike neighbours are: a key of UUIDs shares a few bytes with its neighbours,
// one of "user17/item4" mostly all up to the slash. For filters of prefixes that decides whether
// the prefix of a missing key is there.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/probe/key_space.h"

namespace rocksieve {

class KeyShape {
 public:
  // Three keys that follow each other in the database.
  void Learn(std::string_view before, std::string_view key, std::string_view after);
  void Learn(std::string_view key);

  // How many of its first bytes a key between two neighbours might share with one of them, if
  // these two have `common` bytes in common: as it is with the keys learned.
  size_t LikelyCommonBytes(size_t common, Random* random) const;

  // A key of the length of `like` that has its first `keep` bytes, others as the keys learned, and
  // lies bytewise between `low` and `high` (not always: a few attempts are made). Empty if not.
  std::string Variation(std::string_view like, size_t keep, std::string_view low,
                        std::string_view high, Random* random) const;

  // The key, and one to eight bytes more.
  std::string Longer(std::string_view key, Random* random) const;

 private:
  static constexpr size_t kPlaces = 64;  // all further ones are taken together

  const std::string& BytesAt(size_t place) const;

  // In the order of their first appearance.
  std::array<std::string, kPlaces + 1> bytes_at_;
  std::array<std::bitset<256>, kPlaces + 1> seen_at_;
  // Of keys whose neighbours have n bytes in common: how many more the key has with one of them.
  std::map<size_t, std::vector<size_t>> more_in_common_;
};

}  // namespace rocksieve
