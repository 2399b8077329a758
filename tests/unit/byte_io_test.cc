// What goes out comes back, and nothing that a peer sends makes a reader leave its bytes.
#include "lib/format/byte_io.h"

#include <random>

#include <gtest/gtest.h>

#include "lib/format/bit_io.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

TEST(ByteIo, EveryKindComesBack) {
  std::string bytes;
  ByteWriter out(&bytes);
  out.U8(0xfe);
  out.U32(0x01020304);
  out.U64(0x1122334455667788);
  out.Varint(300);
  out.String("abc");
  out.Bytes("de");
  EXPECT_EQ(bytes, std::string("\xfe\x04\x03\x02\x01\x88\x77\x66\x55\x44\x33\x22\x11\xac\x02\x03"
                               "abcde"));
  ByteReader in(bytes);
  EXPECT_EQ(in.U8(), 0xfe);
  EXPECT_EQ(in.U32(), 0x01020304u);
  EXPECT_EQ(in.U64(), 0x1122334455667788u);
  EXPECT_EQ(in.Varint(), 300u);
  EXPECT_EQ(in.String(), "abc");
  EXPECT_FALSE(in.Finished());
  EXPECT_EQ(in.Rest(), "de");
  EXPECT_TRUE(in.Finished());
  EXPECT_EQ(in.U8(), 0);
  EXPECT_FALSE(in.ok());
}

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

TEST(BitIo, BitsStandLowestFirst) {
  std::string bytes;
  BitWriter out(&bytes);
  out.Put(1, 1);
  out.PutUnary(3);
  out.Put(0x5a5, 11);
  out.Finish();
  EXPECT_EQ(bytes, "\xaf\xb4");  // 1, 1110, 10100101101 from the left
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
