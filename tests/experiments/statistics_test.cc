// SPDX-License-Identifier: Apache-2.0
// The statistics behind `./run experiments`, and that its tests of hashes tell good from bad.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/experiments/statistics.h"

namespace rocksieve::experiments {
namespace {

TEST(ChiSquare, ScoresAreThoseOfTheTables) {
  // The 95 % and the 99.9 % quantile of chi-square with 30 degrees of freedom, as two cells that
  // differ by so much: 2 d^2 / e = chi-square.
  for (const auto& [chi_square, score] : {std::pair{43.773, 1.645}, std::pair{59.703, 3.090}}) {
    const double expected = 1e6;
    const auto off = static_cast<uint64_t>(std::llround(std::sqrt(chi_square * expected / 2)));
    EXPECT_NEAR(ChiSquareScore({1'000'000 + off, 1'000'000 - off}, {expected, expected}, 30), score,
                0.01);
  }
}

TEST(Correlation, OfAlikeOppositeAndConstantNumbers) {
  Correlation alike, opposite, constant;
  for (int i = 0; i < 100; i++) {
    alike.Add(1e9 + i, 5 * i);
    opposite.Add(i, -i);
    constant.Add(i, 3);
  }
  EXPECT_NEAR(alike.Score(), 10, 1e-9);  // r = 1, sqrt(100)
  EXPECT_NEAR(opposite.Score(), -10, 1e-9);
  EXPECT_EQ(constant.Score(), 0);
}

TEST(Quality, GoodSchemesPassAndBadOnesFail) {
  std::vector<std::string> keys;
  for (int i = 0; i < 30'000; i++) keys.push_back("key" + std::to_string(i));
  int good = 0, bad = 0;
  for (const Scheme& scheme : Schemes()) {
    const Verdict verdict = Judge(scheme, keys);
    if (scheme.expectation == Expectation::kFail) {
      bad++;
      EXPECT_FALSE(verdict.Uniform() && verdict.Independent()) << scheme.name;
    } else {
      good++;
      EXPECT_TRUE(verdict.Uniform()) << scheme.name << ", " << verdict.uniformity.of;
    }
    if (scheme.expectation == Expectation::kPass) {
      EXPECT_TRUE(verdict.Independent())
          << scheme.name << ", " << verdict.correlation.of << ", " << verdict.independence.of;
    }
  }
  EXPECT_GE(good, 6);
  EXPECT_GE(bad, 2);
}

}  // namespace
}  // namespace rocksieve::experiments
