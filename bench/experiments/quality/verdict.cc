// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/quality/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace rocksieve::experiments {
namespace {

constexpr uint64_t kBins = 1024, kPairBins = 32, kTripleBins = 16;

// Where the values of a coordinate are counted: all in turn, or as many in each bin as can be.
class Bins {
 public:
  Bins(uint64_t range, uint64_t most) : range_(range), bins_(std::min(range, most)) {}
  uint64_t Of(uint64_t value) const { return value * bins_ / range_; }
  uint64_t size() const { return bins_; }
  // The share of all values that belong to it.
  double Share(uint64_t bin) const {
    return static_cast<double>(First(bin + 1) - First(bin)) / static_cast<double>(range_);
  }

 private:
  uint64_t First(uint64_t bin) const { return (bin * range_ + bins_ - 1) / bins_; }
  uint64_t range_, bins_;
};

// Chi-square of some coordinates at once against the product of uniform distributions.
class JointTest {
 public:
  JointTest(const Scheme& scheme, std::vector<size_t> which, uint64_t most_bins)
      : which_(std::move(which)) {
    size_t cells = 1;
    for (const size_t i : which_) {
      bins_.emplace_back(scheme.coordinates[i].range, most_bins);
      cells *= bins_.back().size();
      name_ += (name_.empty() ? "" : ", ") + scheme.coordinates[i].name;
    }
    counts_.resize(cells);
  }

  void Add(const uint64_t* values) {
    counts_[Cell([&](size_t j) { return bins_[j].Of(values[which_[j]]); })]++;
    keys_++;
  }

  void Finish(WorstScore* worst) const {
    std::vector<double> expected(counts_.size(), keys_);
    for (size_t cell = 0; cell < counts_.size(); cell++) {
      size_t rest = cell;
      for (size_t j = bins_.size(); j-- > 0; rest /= bins_[j].size()) {
        expected[cell] *= bins_[j].Share(rest % bins_[j].size());
      }
    }
    worst->Include(ChiSquareScore(counts_, expected, static_cast<double>(counts_.size() - 1)),
                   name_);
  }

 private:
  template <typename BinOf>
  size_t Cell(BinOf bin_of) const {
    size_t cell = 0;
    for (size_t j = 0; j < bins_.size(); j++) cell = cell * bins_[j].size() + bin_of(j);
    return cell;
  }

  std::vector<size_t> which_;
  std::vector<Bins> bins_;
  std::string name_;
  std::vector<uint64_t> counts_;
  double keys_ = 0;
};

}  // namespace

double ChiSquareScore(const std::vector<uint64_t>& counts, const std::vector<double>& expected,
                      double degrees_of_freedom) {
  double chi_square = 0;
  for (size_t i = 0; i < counts.size(); i++) {
    const double difference = static_cast<double>(counts[i]) - expected[i];
    chi_square += difference * difference / expected[i];
  }
  const double variance = 2 / (9 * degrees_of_freedom);
  return (std::cbrt(chi_square / degrees_of_freedom) - (1 - variance)) / std::sqrt(variance);
}

void Correlation::Add(double x, double y) {
  if (count_ == 0) {
    x0_ = x;
    y0_ = y;
  }
  x -= x0_;
  y -= y0_;
  count_++;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  yy_ += y * y;
  xy_ += x * y;
}

double Correlation::Score() const {
  if (count_ < 2) return 0;
  const double variance_x = xx_ - x_ * x_ / count_, variance_y = yy_ - y_ * y_ / count_;
  if (variance_x <= 0 || variance_y <= 0) return 0;
  const double r = (xy_ - x_ * y_ / count_) / std::sqrt(variance_x * variance_y);
  return r * std::sqrt(count_);
}

void WorstScore::Include(double other, const std::string& its) {
  if (!of.empty() && std::abs(other) <= std::abs(score)) return;
  score = other;
  of = its;
}

bool Verdict::Uniform() const { return std::abs(uniformity.score) <= kMostScore; }

bool Verdict::Independent() const {
  return std::abs(correlation.score) <= kMostScore && std::abs(independence.score) <= kMostScore;
}

Verdict Judge(const Scheme& scheme, const std::vector<std::string>& keys) {
  const size_t count = scheme.coordinates.size();
  std::vector<JointTest> singles, pairs, triples;
  std::vector<Correlation> correlations;
  for (size_t i = 0; i < count; i++) {
    singles.emplace_back(scheme, std::vector<size_t>{i}, kBins);
    for (size_t j = 0; j < i; j++) {
      pairs.emplace_back(scheme, std::vector<size_t>{j, i}, kPairBins);
      correlations.emplace_back();
    }
  }
  if (count >= 3) triples.emplace_back(scheme, std::vector<size_t>{0, 1, 2}, kTripleBins);

  std::vector<uint64_t> values(count);
  for (const std::string& key : keys) {
    scheme.place(key, values.data());
    for (JointTest& test : singles) test.Add(values.data());
    for (JointTest& test : pairs) test.Add(values.data());
    for (JointTest& test : triples) test.Add(values.data());
    auto correlation = correlations.begin();
    for (size_t i = 0; i < count; i++) {
      for (size_t j = 0; j < i; j++) {
        (correlation++)->Add(static_cast<double>(values[j]), static_cast<double>(values[i]));
      }
    }
  }

  Verdict verdict;
  for (const JointTest& test : singles) test.Finish(&verdict.uniformity);
  for (const JointTest& test : pairs) test.Finish(&verdict.independence);
  for (const JointTest& test : triples) test.Finish(&verdict.three_wise);
  auto correlation = correlations.begin();
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < i; j++) {
      verdict.correlation.Include((correlation++)->Score(),
                                  scheme.coordinates[j].name + ", " + scheme.coordinates[i].name);
    }
  }
  return verdict;
}

}  // namespace rocksieve::experiments
