// SPDX-License-Identifier: Apache-2.0
// What the tests of all types of the toolbox need: golden bytes, and bytes that are not as they
// were; hashes, texts, and pairs of sets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rocksieve/dynamic/bloom_filter.h>
#include <rocksieve/estimate/min_hash.h>

#include "lib/hash/mix.h"
#include "lib/toolbox/envelope.h"
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

// The bytes are the golden ones, and so is what is read from them.
template <typename T>
void ExpectGolden(const std::string& name, const T& made) {
  SCOPED_TRACE(name);
  const std::string golden = GoldenBytes(name);
  EXPECT_EQ(HexBytes(made.Serialize()), HexBytes(golden));
  std::string error;
  const std::optional<T> read = T::Deserialize(golden, &error);
  ASSERT_TRUE(read) << error;
  EXPECT_EQ(HexBytes(read->Serialize()), HexBytes(golden));
}

// What make() throws: options that make no sense, and the remedy.
template <typename Make>
std::string InvalidArgumentOf(Make make) {
  try {
    make();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// Every way to cut the bytes, and to flip one bit, is refused with a reason; and payloads that an
// attacker has framed anew are refused, or are exactly what they say (or can at least be written
// and read again, if there are many forms to write one thing). For small envelopes, since all of
// that is tried.
enum class Forms { kOne, kMany };
template <typename T>
void ExpectRefusesDamage(const std::string& bytes, EnvelopeType type, Forms forms = Forms::kOne) {
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
  const std::optional<std::string_view> payload = ReadEnvelope(bytes, type, nullptr);
  ASSERT_TRUE(payload);
  std::mt19937 random(20070711);
  for (size_t i = 0; i < payload->size() * 8 + 2000; i++) {
    std::string hostile(*payload);
    if (i < hostile.size() * 8) {
      hostile[i / 8] = static_cast<char>(hostile[i / 8] ^ 1 << i % 8);
    } else {
      for (int changes = 1 + static_cast<int>(random() % 4); changes > 0; changes--) {
        const size_t at =
            random() % (random() % 2 ? hostile.size() : std::min<size_t>(32, hostile.size()));
        hostile[at] = static_cast<char>(random() % 3 ? random() : 0xff);
        // A varint that no memory is large enough for.
        if (random() % 16 == 0) hostile.replace(at, 9, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
      }
      if (random() % 4 == 0) hostile.resize(random() % (hostile.size() + 9));
      if (hostile.empty()) hostile.push_back('\0');
    }
    std::string error;
    const std::string framed = WriteEnvelope(type, hostile);
    const std::optional<T> read = T::Deserialize(ExactCopy(framed).view(), &error);
    if (read && forms == Forms::kMany) {
      EXPECT_TRUE(T::Deserialize(read->Serialize(), nullptr));
    } else if (read) {
      EXPECT_EQ(HexBytes(read->Serialize()), HexBytes(framed));
    } else {
      EXPECT_NE(error, "");
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

// A real text, several of which are versions of each other: the licences that are on every Debian.
// Throws, which fails the test, if it is not there.
inline std::string Licence(const std::string& name) {
  const std::string path = "/usr/share/common-licenses/" + name;
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (text.empty()) {
    throw std::runtime_error(path + " is missing: it belongs to Debian's package base-files");
  }
  return text;
}

// Six of them as one stream of words, separated by white space, as they are.
inline std::vector<std::string> LicenceWords() {
  std::vector<std::string> words;
  for (const char* name : {"GPL-2", "GPL-3", "LGPL-2.1", "GFDL-1.3", "Apache-2.0", "MPL-2.0"}) {
    std::istringstream text(Licence(name));
    for (std::string word; text >> word;) words.push_back(word);
  }
  return words;
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
