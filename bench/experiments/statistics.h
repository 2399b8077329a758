// SPDX-License-Identifier: Apache-2.0
// Tests of hypotheses on large samples, and what they say of one scheme, a way from a key to the
// places where a filter keeps it, taken apart into coordinates, on one set of keys.
//
// All give standard scores: under the hypothesis, about the standard normal distribution, so that
// beyond 5 in either direction is no chance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksieve::experiments {

struct Coordinate {
  std::string name;
  uint64_t range = 0;  // its values: 0 to range - 1
};

// What the tests have to say of a scheme.
enum class Expectation {
  kPass,     // uniform, and independent in pairs
  kFail,     // made to be bad
  kPartial,  // uniform, but dependent by its definition
};

struct Scheme {
  std::string name;
  Expectation expectation = Expectation::kPass;
  std::vector<Coordinate> coordinates;
  // Writes one value for each coordinate.
  std::function<void(std::string_view key, uint64_t* values)> place;
};

std::vector<Scheme> Schemes();

// Pearson's chi-square statistic of counts against expected ones, as a standard score: Wilson and
// Hilferty, "The distribution of chi-square", 1931: the cube root of a chi-square variable over its
// degrees of freedom d is nearly normal, with the mean 1 - 2/(9d) and the variance 2/(9d). Above 0:
// further from the expected counts than chance; below: closer. Cells of which less than 5 are
// expected make it rough. REQUIRES: as many counts as expected ones, at least two, all expected
// ones positive, `degrees_of_freedom` >= 1.
double ChiSquareScore(const std::vector<uint64_t>& counts, const std::vector<double>& expected,
                      double degrees_of_freedom);

// Pearson's correlation of pairs that come one after another.
class Correlation {
 public:
  void Add(double x, double y);
  // r sqrt(n): the standard score of r for large n if x and y are independent. 0 if one of them is
  // constant.
  double Score() const;

 private:
  // Sums about the first pair, which keeps them small.
  double count_ = 0, x0_ = 0, y0_ = 0, x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
};

// The standard score farthest from 0, and whose it is.
struct WorstScore {
  double score = 0;
  std::string of;
  void Include(double other, const std::string& its);
};

struct Verdict {
  WorstScore uniformity;    // chi-square of each coordinate
  WorstScore correlation;   // Pearson's, of each pair of coordinates
  WorstScore independence;  // chi-square of each pair of coordinates, in a table of 32 x 32
  // The same of the first three coordinates together, in 16 x 16 x 16. No part of the verdict:
  // three probes of double hashing are dependent by definition, whatever the hash.
  WorstScore three_wise;

  bool Uniform() const;
  bool Independent() const;  // in pairs
};

// Beyond this it is no chance: one in 1.7 million.
inline constexpr double kMostScore = 5;

Verdict Judge(const Scheme& scheme, const std::vector<std::string>& keys);

}  // namespace rocksieve::experiments
