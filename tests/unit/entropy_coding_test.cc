// The range coder of flags, and the Golomb-Rice coder of sorted numbers.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "lib/format/bit_coder.h"
#include "lib/format/golomb.h"
#include "support/printable.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

double EntropyBytes(uint64_t ones, uint64_t count) {
  if (ones == 0 || ones == count) return 0;
  const double p = static_cast<double>(ones) / static_cast<double>(count);
  return static_cast<double>(count) * -(p * std::log2(p) + (1 - p) * std::log2(1 - p)) / 8;
}

TEST(BitCoder, FlagsComeBackAtTheirEntropy) {
  std::mt19937_64 random(11);
  for (size_t count : {0, 1, 2, 3, 10, 1000, 100000}) {
    for (double share : {0.0, 1e-6, 0.0001, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0}) {
      std::vector<uint8_t> flags(count);
      uint64_t ones = 0;
      for (uint8_t& flag : flags) {
        ones += flag = static_cast<double>(random() >> 11) * 0x1p-53 < share;
      }
      std::string bytes;
      ByteWriter out(&bytes);
      EncodeFlags(flags, &out);
      EXPECT_LE(static_cast<double>(bytes.size()), 1.0005 * EntropyBytes(ones, count) + 8)
          << count << " flags, " << ones << " ones";
      if (ones == 0) {
        EXPECT_EQ(bytes.size(), 1u);
      }
      const ExactCopy copy(bytes);
      ByteReader in(copy.view());
      std::vector<uint8_t> back;
      ASSERT_TRUE(DecodeFlags(&in, count, &back));
      EXPECT_TRUE(in.Finished());
      EXPECT_EQ(back, flags);
    }
  }
}

// Carries through long runs of 0xff are rare: all sequences of 16 flags, at skewed probabilities.
TEST(BitCoder, AllShortSequences) {
  for (FlagProbability probability : {1u, 65536u, 0x7fffffffu, 0x80000000u, 0xffff0000u, ~0u}) {
    for (uint32_t sequence = 0; sequence < 65536; sequence += probability == 1 ? 1 : 7) {
      std::string bytes;
      FlagEncoder encoder(&bytes);
      for (int i = 0; i < 16; i++) encoder.Put(sequence >> i & 1, probability);
      encoder.Finish();
      FlagDecoder decoder(bytes);
      uint32_t back = 0;
      for (int i = 0; i < 16; i++) back |= uint32_t{decoder.Take(probability)} << i;
      ASSERT_EQ(back, sequence) << probability;
    }
  }
}

TEST(BitCoder, ProbabilitiesMayChangeFromFlagToFlag) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 200; round++) {
    std::vector<std::pair<bool, FlagProbability>> flags(random() % 3000);
    std::string bytes;
    FlagEncoder encoder(&bytes);
    for (auto& [flag, probability] : flags) {
      probability = static_cast<uint32_t>(random() >> (32 + random() % 32)) | 1;
      flag = random() >> 32 < probability || random() % 64 == 0;
      encoder.Put(flag, probability);
    }
    encoder.Finish();
    FlagDecoder decoder(bytes);
    for (auto [flag, probability] : flags) ASSERT_EQ(decoder.Take(probability), flag);
  }
}

TEST(BitCoder, GoldenBytes) {
  std::vector<uint8_t> flags(100);
  flags[3] = flags[50] = flags[51] = 1;
  std::string bytes;
  ByteWriter out(&bytes);
  EncodeFlags(flags, &out);
  EXPECT_EQ(HexBytes(bytes), "03031ba3d0");
}

TEST(Golomb, NumbersComeBackAtTheirPrice) {
  std::mt19937_64 random(13);
  for (uint64_t count : {0, 1, 2, 100, 20000}) {
    for (uint64_t largest :
         {uint64_t{0}, uint64_t{9}, uint64_t{1000000}, ~uint64_t{0} / 3, ~uint64_t{0}}) {
      for (int extra_bits : {0, 1, 34, 64}) {
        std::vector<uint64_t> values(count), extras(extra_bits == 0 ? 0 : count);
        for (uint64_t& value : values) {
          value = largest == ~uint64_t{0} ? random() : random() % (largest + 1);
        }
        for (uint64_t& extra : extras) extra = random() >> (64 - extra_bits);
        std::sort(values.begin(), values.end());
        std::string bytes;
        ByteWriter out(&bytes);
        EncodeSorted(values, extras, extra_bits, &out);
        if (count >= 100 && largest > 100 * count) {
          const double n = static_cast<double>(count);
          const double gap_bits = std::log2(static_cast<double>(largest) / n) + 1.6;
          EXPECT_LE(static_cast<double>(bytes.size()) * 8, n * (gap_bits + extra_bits) + 64);
          EXPECT_NEAR(static_cast<double>(bytes.size()) * 8 - n * extra_bits,
                      ExpectedSortedBits(n, static_cast<double>(largest)), n * 0.1 + 64);
        }
        const ExactCopy copy(bytes);
        ByteReader in(copy.view());
        SortedValues back;
        ASSERT_TRUE(DecodeSorted(&in, largest, extra_bits, count, &back));
        EXPECT_TRUE(in.Finished());
        EXPECT_EQ(back.values, values);
        EXPECT_EQ(back.extras, extras);
        if (count == 0) continue;
        ByteReader too_many(copy.view());
        EXPECT_FALSE(DecodeSorted(&too_many, largest, extra_bits, count - 1, &back));
        if (values.back() == 0) continue;
        ByteReader too_large(copy.view());
        EXPECT_FALSE(DecodeSorted(&too_large, values.back() - 1, extra_bits, count, &back));
      }
    }
  }
}

TEST(Golomb, ClustersCostLess) {
  std::vector<uint64_t> values(10000);
  for (size_t i = 0; i < values.size(); i++) values[i] = (uint64_t{1} << 60) + i;
  std::string bytes;
  ByteWriter out(&bytes);
  EncodeSorted(values, {}, 0, &out);
  // One long first gap: the parameter must fit it without 2^40 ones, and still not be 60.
  EXPECT_LT(bytes.size(), 75000u);
}

TEST(Golomb, GoldenBytes) {
  std::string bytes;
  ByteWriter out(&bytes);
  const std::vector<uint64_t> values = {5, 100, 100, 260, 1000}, extras = {1, 2, 3, 0, 1};
  EncodeSorted(values, extras, 2, &out);
  EXPECT_EQ(HexBytes(bytes), "05070af90a70203e72");
}

// Whatever comes: false, or numbers that keep the promises; and never a step outside.
TEST(EntropyCoding, DamagedAndRandomBytes) {
  std::mt19937_64 random(14);
  std::vector<uint64_t> values(50);
  for (uint64_t& value : values) value = random() % 100000;
  std::sort(values.begin(), values.end());
  std::string sorted, coded;
  ByteWriter sorted_out(&sorted), coded_out(&coded);
  EncodeSorted(values, {}, 0, &sorted_out);
  std::vector<uint8_t> flags(500);
  for (uint8_t& flag : flags) flag = random() % 5 == 0;
  EncodeFlags(flags, &coded_out);
  for (int round = 0; round < 20000; round++) {
    std::string bytes = round % 2 ? sorted : coded;
    if (round % 3 == 0) {
      bytes.resize(random() % 60);
      for (char& byte : bytes) byte = static_cast<char>(random());
    } else {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
      if (round % 3 == 1) bytes.resize(random() % bytes.size());
    }
    const ExactCopy copy(bytes);
    ByteReader in(copy.view());
    SortedValues decoded;
    if (DecodeSorted(&in, 100000, static_cast<int>(random() % 65), 1000, &decoded)) {
      ASSERT_LE(decoded.values.size(), 1000u);
      ASSERT_TRUE(std::is_sorted(decoded.values.begin(), decoded.values.end()));
      if (!decoded.values.empty()) {
        ASSERT_LE(decoded.values.back(), 100000u);
      }
    } else {
      ASSERT_FALSE(in.ok());
    }
    ByteReader again(copy.view());
    std::vector<uint8_t> back;
    if (DecodeFlags(&again, 500, &back)) {
      ASSERT_EQ(back.size(), 500u);
    }
  }
}

}  // namespace
}  // namespace rocksieve
