// SPDX-License-Identifier: Apache-2.0
#include "lib/hash/key_hash.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace rocksieve {
namespace {

TEST(KeyHasher, HashesShortKeysAsHashKeyDoes) {
  std::mt19937_64 random(7);
  for (uint64_t salt : {kDefaultSalt, uint64_t{1}, ~uint64_t{0}, random(), random()}) {
    const KeyHasher hasher(salt);
    for (size_t bytes = 0; bytes < 40; bytes++) {
      ASSERT_EQ(KeyHasher::IsShort(bytes), bytes >= 9 && bytes <= 16) << bytes;
      if (!KeyHasher::IsShort(bytes)) continue;
      for (int i = 0; i < 1000; i++) {
        std::string key(bytes, '\0');
        for (char& c : key) c = static_cast<char>(random());
        ASSERT_EQ(hasher.HashShort(key), HashKey(key, salt)) << bytes << " bytes, salt " << salt;
      }
    }
  }
}

}  // namespace
}  // namespace rocksieve
