// SPDX-License-Identifier: Apache-2.0
// Bytes, bits and the codes of numbers.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "lib/format/bit_coder.h"
#include "lib/format/bit_io.h"
#include "lib/format/byte_io.h"
#include "support/text.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

// The range coder of flags, and the Golomb-Rice coder of sorted numbers.

double EntropyBytes(uint64_t ones, uint64_t count) {
  if (ones == 0 || ones == count) return 0;
  const double p = static_cast<double>(ones) / static_cast<double>(count);
  return static_cast<double>(count) * -(p * std::log2(p) + (1 - p) * std::log2(1 - p)) / 8;
}

TEST(BitCoder, FlagsComeBackAtTheirEntropy) {
  std::mt19937_64 random(11);
  for (size_t count : {0, 1, 2, 3, 10, 1000, 100000}) {
    for (double share : {0.0, 1e-6, 0.0001, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0}) {
      PageVector<uint8_t> flags(count, 0);
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
      PageVector<uint8_t> back;
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

TEST(BitCoder, GoldenBytes) {
  PageVector<uint8_t> flags(100, 0);
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

TEST(Golomb, GoldenBytes) {
  std::string bytes;
  ByteWriter out(&bytes);
  const std::vector<uint64_t> values = {5, 100, 100, 260, 1000}, extras = {1, 2, 3, 0, 1};
  EncodeSorted(values, extras, 2, &out);
  EXPECT_EQ(HexBytes(bytes), "05070af90a70203e72");
}

// What goes out comes back, and nothing that a peer sends makes a reader leave its bytes.

TEST(ByteIo, VarintsOfEveryLength) {
  for (int bit = 0; bit < 64; bit++) {
    for (uint64_t value : {uint64_t{1} << bit, (uint64_t{1} << bit) - 1, ~uint64_t{0} >> bit}) {
      std::string bytes;
      ByteWriter(&bytes).Varint(value);
      EXPECT_LE(bytes.size(), kMaxVarintBytes);
      ByteReader in(bytes);
      EXPECT_EQ(in.Varint(value), value);
      EXPECT_TRUE(in.Finished());
      ByteReader limited(bytes);
      if (value > 0) {
        limited.Varint(value - 1);
        EXPECT_FALSE(limited.ok()) << value;
      }
      const ExactCopy cut(std::string_view(bytes).substr(0, bytes.size() - 1));
      ByteReader short_of(cut.view());
      short_of.Varint();
      EXPECT_FALSE(short_of.ok()) << value;
    }
  }
}

TEST(ByteIo, LongFormsOfVarintsAreRefused) {
  for (const std::string& bytes :
       {std::string("\x80\x00", 2), std::string("\xff\x80\x00", 3), std::string(10, '\x80') + '\1',
        std::string(9, '\xff') + '\2', std::string(9, '\xff') + '\x81'}) {
    ByteReader in(bytes);
    in.Varint();
    EXPECT_FALSE(in.ok());
  }
}

TEST(ByteIo, AFailureStays) {
  ByteReader in(std::string_view("\x05xy", 3));
  EXPECT_EQ(in.String(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(in.U8(), 0);
  EXPECT_EQ(in.Bytes(0), "");
  EXPECT_FALSE(in.Finished());
}

TEST(BitIo, EveryWidthComesBackAtEveryPlace) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; round++) {
    std::vector<std::pair<uint64_t, int>> numbers(random() % 40);
    std::string bytes;
    BitWriter out(&bytes);
    size_t bits = 0;
    for (auto& [value, width] : numbers) {
      width = static_cast<int>(random() % 65);
      value = width == 0 ? 0 : random() >> (64 - width);
      out.Put(value, width);
      bits += static_cast<size_t>(width);
    }
    out.Finish();
    ASSERT_EQ(bytes.size(), (bits + 7) / 8);
    const ExactCopy copy(bytes);
    BitReader in(copy.view());
    for (auto [value, width] : numbers) ASSERT_EQ(in.Take(width), value);
    EXPECT_TRUE(in.Finished());
    EXPECT_EQ(in.Take(8), 0u);
    EXPECT_FALSE(in.ok());
  }
}

TEST(BitIo, UnaryNumbers) {
  std::vector<uint64_t> numbers;
  for (uint64_t n = 0; n < 200; n++) numbers.push_back(n);
  for (uint64_t n : {1000, 4096, 3, 0}) numbers.push_back(n);
  std::string bytes;
  BitWriter out(&bytes);
  for (uint64_t n : numbers) out.PutUnary(n);
  out.Finish();
  const ExactCopy copy(bytes);
  BitReader in(copy.view());
  for (uint64_t n : numbers) ASSERT_EQ(in.TakeUnary(n), n);
  EXPECT_TRUE(in.Finished());
  BitReader limited(copy.view());
  limited.TakeUnary(0);
  EXPECT_TRUE(limited.ok());
  limited.TakeUnary(0);
  EXPECT_FALSE(limited.ok());
  const std::string endless(100, '\xff');
  BitReader never(endless);
  never.TakeUnary(UINT64_MAX);
  EXPECT_FALSE(never.ok());
}

TEST(BitIo, PaddingMustBeZero) {
  BitReader in("\x13");
  EXPECT_EQ(in.Take(4), 3u);
  EXPECT_FALSE(in.Finished());
  EXPECT_EQ(in.Take(1), 1u);
  EXPECT_TRUE(in.Finished());
}

}  // namespace
}  // namespace rocksieve
