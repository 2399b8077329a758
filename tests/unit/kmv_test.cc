// Sizes and overlaps from the smallest hashes, beside the true ones.
#include "lib/sketch/kmv.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "support/printable.h"
#include "tests/support.h"

namespace rocksieve {
namespace {

struct Pair {
  KmvSketch a, b;
};

Pair RandomPair(size_t k, size_t only_a, size_t only_b, size_t both, uint64_t seed) {
  std::mt19937_64 random(seed);
  Pair pair{KmvSketch(k), KmvSketch(k)};
  for (size_t i = 0; i < both; i++) {
    const uint64_t hash = random();
    pair.a.Add(hash);
    pair.b.Add(hash);
    if (i % 3 == 0) pair.b.Add(hash);
  }
  for (size_t i = 0; i < only_a; i++) pair.a.Add(random());
  for (size_t i = 0; i < only_b; i++) pair.b.Add(random());
  return pair;
}

TEST(Kmv, SmallSetsAreExact) {
  for (size_t n : {0, 1, 2, 20}) {
    const Pair pair = RandomPair(64, n, n + 3, 2 * n, n);
    const OverlapEstimate overlap = KmvSketch::Overlap(pair.a, pair.b);
    const double d = static_cast<double>(n);
    EXPECT_EQ(overlap.a.value, 3 * d);
    EXPECT_EQ(overlap.b.value, 3 * d + 3);
    EXPECT_EQ(overlap.both.value, 2 * d);
    EXPECT_EQ(overlap.either.value, 4 * d + 3);
    EXPECT_EQ(overlap.jaccard.value, 2 * d / (4 * d + 3));
    for (const Estimate& e :
         {overlap.a, overlap.b, overlap.both, overlap.either, overlap.jaccard}) {
      EXPECT_EQ(e.standard_error, 0);
    }
  }
}

// Mean and spread of each number over many pairs, at full precision and after a journey.
TEST(Kmv, EstimatesAreUnbiasedWithTheStatedErrors) {
  struct Case {
    size_t only_a, only_b, both;
  };
  for (const Case& c : {Case{3000, 3000, 0}, Case{2000, 1000, 2000}, Case{100, 100, 5000},
                        Case{0, 0, 4000}, Case{20000, 0, 1500}}) {
    constexpr int kRounds = 200, kNumbers = 5;
    const double both = static_cast<double>(c.both), a = static_cast<double>(c.only_a) + both,
                 b = static_cast<double>(c.only_b) + both, either = a + b - both;
    const double truth[kNumbers] = {a, b, either, both, both / either};
    double sum[kNumbers] = {}, squares[kNumbers] = {}, stated[kNumbers] = {};
    for (int round = 0; round < kRounds; round++) {
      Pair pair =
          RandomPair(256, c.only_a, c.only_b, c.both, 1000 * c.both + static_cast<size_t>(round));
      if (round % 2) {
        std::string bytes;
        ByteWriter out(&bytes);
        pair.a.Write(12, &out);
        EXPECT_LT(bytes.size(), 256 * 14 / 8 + 20);
        ByteReader in(bytes);
        ASSERT_TRUE(pair.a.Read(&in, 256));
        EXPECT_TRUE(in.Finished());
      }
      const OverlapEstimate overlap = KmvSketch::Overlap(pair.a, pair.b);
      const Estimate all[kNumbers] = {overlap.a, overlap.b, overlap.either, overlap.both,
                                      overlap.jaccard};
      for (int i = 0; i < kNumbers; i++) {
        sum[i] += all[i].value;
        squares[i] += all[i].value * all[i].value;
        stated[i] += all[i].standard_error;
      }
    }
    for (int i = 0; i < kNumbers; i++) {
      const double mean = sum[i] / kRounds, error = stated[i] / kRounds;
      const double spread = std::sqrt(std::max(0.0, squares[i] / kRounds - mean * mean));
      // 12 bits: about one value in 4096 is taken for another.
      const double rounding = 0.0005 * (i < 4 ? either : 1.0);
      EXPECT_NEAR(mean, truth[i], 4 * error / std::sqrt(kRounds) + rounding)
          << i << " of " << c.only_a << ' ' << c.only_b << ' ' << c.both;
      EXPECT_LT(spread, 1.25 * error + rounding) << i << " of " << c.both;
      EXPECT_LT(error, 0.1 * std::max(a, b));
    }
  }
}

TEST(Kmv, MergeIsTheSketchOfTheUnion) {
  std::mt19937_64 random(3);
  KmvSketch whole(100), first(100), second(300);
  for (int i = 0; i < 5000; i++) {
    const uint64_t hash = random();
    whole.Add(hash);
    if (i % 2 || i % 5 == 0) first.Add(hash);
    if (i % 2 == 0) second.Add(hash);
  }
  first.Merge(second);
  EXPECT_EQ(first.k(), 100u);
  std::string a, b;
  ByteWriter a_out(&a), b_out(&b);
  whole.Write(KmvSketch::kFullPrecision, &a_out);
  first.Write(KmvSketch::kFullPrecision, &b_out);
  EXPECT_EQ(a, b);
  EXPECT_EQ(whole.DistinctCount().value, first.DistinctCount().value);
}

TEST(Kmv, GoldenBytes) {
  KmvSketch sketch(4);
  for (uint64_t i = 1; i <= 9; i++) sketch.Add(i * 0x9e3779b97f4a7c15);
  std::string full, rounded;
  ByteWriter full_out(&full), rounded_out(&rounded);
  sketch.Write(64, &full_out);
  sketch.Write(8, &rounded_out);
  EXPECT_EQ(HexBytes(full),
            "0400043ca5b1d1f17d8255dc82174104a725b3aa34363abe4fb08a5bf02288e0b4645601");
  EXPECT_EQ(HexBytes(rounded), "04350407e1b62a3715");
}

TEST(Kmv, DamagedAndRandomBytes) {
  std::mt19937_64 random(4);
  const Pair pair = RandomPair(64, 1000, 1000, 1000, 5);
  std::string intact;
  ByteWriter out(&intact);
  pair.a.Write(10, &out);
  for (int round = 0; round < 5000; round++) {
    std::string bytes = intact;
    bytes[random() % (round % 2 ? 4 : bytes.size())] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    const ExactCopy copy(bytes);
    ByteReader in(copy.view());
    KmvSketch sketch(3);
    EXPECT_TRUE(!sketch.Read(&in, 100) || sketch.k() <= 100);
    sketch.Add(random());
    sketch.Merge(pair.b);
    KmvSketch::Overlap(sketch, pair.b);
  }
}

}  // namespace
}  // namespace rocksieve
