// SPDX-License-Identifier: Apache-2.0
// What the tests of all types of the toolbox need: golden bytes, and bytes that are not as they
// were; hashes, and pairs of sets.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/estimate/min_hash.h>

#include "lib/hash/mix.h"
#include "support/text.h"
#include "tests/golden.h"
#include "tests/support.h"

namespace rocksieve {

// The bytes of that name in tests/golden/toolbox.json.
inline std::string GoldenBytes(const std::string& name) {
  for (const auto& entry : ReadGolden("toolbox")) {
    if (entry.at("name") == name) return BytesOf(entry);
  }
  ADD_FAILURE() << "no golden bytes are called " << name;
  return "";
}

// Every way to cut the bytes, and to flip one bit, is refused with a reason. (What an attacker
// frames anew is the matter of the fuzzer `toolbox`.)
template <typename T>
void ExpectRefusesDamage(const std::string& bytes) {
  for (size_t cut = 0; cut < bytes.size(); cut++) {
    std::string error;
    const ExactCopy copy(std::string_view(bytes).substr(0, cut));
    EXPECT_FALSE(T::Deserialize(copy.view(), &error)) << "cut to " << cut;
    EXPECT_NE(error, "");
  }
  for (size_t bit = 0; bit < bytes.size() * 8; bit++) {
    std::string flipped = bytes, error;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(T::Deserialize(ExactCopy(flipped).view(), &error)) << "bit " << bit;
    EXPECT_NE(error, "");
  }
  EXPECT_FALSE(T::Deserialize(bytes + '\0', nullptr));
}

// The bytes are the golden ones, and so is what is read from them; damage is refused.
template <typename T>
void ExpectGolden(const std::string& name, const T& made) {
  SCOPED_TRACE(name);
  const std::string golden = GoldenBytes(name);
  EXPECT_EQ(HexBytes(made.Serialize()), HexBytes(golden));
  std::string error;
  const std::optional<T> read = T::Deserialize(golden, &error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(HexBytes(read->Serialize()), HexBytes(golden));
  ExpectRefusesDamage<T>(golden);
}

// Each call throws what says the remedy.
inline void ExpectRefused(
    std::initializer_list<std::pair<std::function<void()>, const char*>> calls) {
  for (const auto& [call, remedy] : calls) {
    try {
      call();
      ADD_FAILURE() << "taken, instead of: " << remedy;
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(remedy), std::string::npos) << error.what();
    }
  }
}

// Uniform hashes, no two alike, the same in every run.
inline uint64_t TestHash(uint64_t number) { return SplitMix64(1970, number); }

inline BloomFilter FilterOf(const BloomFilterOptions& options, uint64_t begin, uint64_t end) {
  BloomFilter filter(options);
  for (uint64_t i = begin; i < end; i++) filter.AddHash(TestHash(i));
  return filter;
}

inline constexpr MinHashMethod kMinHashMethods[] = {MinHashMethod::kOnePermutation,
                                                    MinHashMethod::kIndependent};

inline MinHashOptions SignatureOptions(uint64_t size, MinHashMethod method, uint64_t seed = 0) {
  MinHashOptions options;
  options.size = size;
  options.method = method;
  options.seed = seed;
  return options;
}

// Two sets of a known similarity.
struct SetPair {
  MinHash a, b;
  double jaccard;
};

// Of so many keys in the union, so many of which both have; the others are shared out evenly.
inline SetPair RandomPair(const MinHashOptions& options, uint64_t either, uint64_t both,
                          uint64_t seed) {
  SetPair pair{MinHash(options), MinHash(options),
               static_cast<double>(both) / static_cast<double>(either)};
  for (uint64_t i = 0; i < either; i++) {
    const uint64_t hash = SplitMix64(seed << 32, i);
    if (i < both || i % 2 == 0) pair.a.AddHash(hash);
    if (i < both || i % 2 == 1) pair.b.AddHash(hash);
  }
  return pair;
}

}  // namespace rocksieve
