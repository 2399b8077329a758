// SPDX-License-Identifier: Apache-2.0
#include "bench/experiments/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <rocksieve/dynamic/bloom_filter.h>

#include "lib/bloom/layout.h"
#include "lib/cuckoo/layout.h"
#include "lib/hash/key_hash.h"
#include "lib/ribbon/layout.h"
#include "lib/toolbox/bloom_options.h"
#include "lib/toolbox/cuckoo_buckets.h"

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

using KeyHasher = uint64_t (*)(std::string_view key);

uint64_t Xxh3(std::string_view key) { return HashKey(key, /*salt=*/0); }

// The hash of many a textbook's first page: words with the same letters collide, and all values are
// small.
uint64_t SumOfBytes(std::string_view key) {
  uint64_t sum = 0;
  for (const char c : key) sum += static_cast<unsigned char>(c);
  return sum;
}

std::vector<Coordinate> Numbered(const char* name, int count, uint64_t range) {
  std::vector<Coordinate> coordinates;
  for (int i = 0; i < count; i++) coordinates.push_back({name + std::to_string(i), range});
  return coordinates;
}

// The optimum for 100,000 keys at 10 bits each; the range is no power of two.
constexpr uint64_t kBloomBits = 1'000'003;
constexpr int kBloomHashes = 7;

Scheme DynamicBloom(std::string name, KeyHasher hasher, BloomHashing hashing,
                    Expectation expectation) {
  BloomFilterOptions options;
  options.bits = kBloomBits;
  options.hashes = kBloomHashes;
  options.hashing = hashing;
  return {std::move(name), expectation, Numbered("probe", kBloomHashes, kBloomBits),
          [options, hasher](std::string_view key, uint64_t* values) {
            bloom::VisitProbes(options, hasher(key), [&values](uint64_t position) {
              *values++ = position;
              return true;
            });
          }};
}

// Double hashing whose second hash was forgotten: probe after probe, the next bit.
Scheme AdjacentProbes() {
  return {"XXH3, adjacent bits", Expectation::kFail, Numbered("probe", kBloomHashes, kBloomBits),
          [](std::string_view key, uint64_t* values) {
            const uint64_t first = MultiplyHigh64(Xxh3(key), kBloomBits);
            for (uint64_t i = 0; i < kBloomHashes; i++) values[i] = (first + i) % kBloomBits;
          }};
}

constexpr uint64_t kLines = 2'003, kShards = 251, kShardSlots = 4'271, kBuckets = 3'907;
constexpr uint64_t kBucketGroups = ribbon::kNominalGroups;

Scheme StaticBloom() {
  std::vector<Coordinate> coordinates = Numbered("probe", 16, 64);
  coordinates.push_back({"line", kLines});
  coordinates.push_back({"group", bloom::kGroups});
  return {"rocksieve.bloom", Expectation::kPass, coordinates,
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            bloom::ForEachProbe(hash, 16, [&values](int, int position) {
              *values++ = static_cast<uint64_t>(position);
            });
            *values++ = bloom::LineIndex(hash, kLines);
            *values++ = bloom::Group(hash);
          }};
}

Scheme StaticCuckoo() {
  return {"rocksieve.cuckoo",
          Expectation::kPass,
          {{"shard", kShards},
           {"first window", kShardSlots - 1},
           {"second window", kShardSlots - 1},
           {"fingerprint", 1 << 8}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const cuckoo::KeyBits bits = cuckoo::KeyBitsOf(hash);
            values[0] = cuckoo::ShardIndex(hash, kShards);
            values[1] = cuckoo::WindowAt(bits.first_position, kShardSlots);
            values[2] = cuckoo::WindowAt(bits.second_position, kShardSlots);
            values[3] = bits.fingerprint & 0xFF;
          }};
}

Scheme StaticRibbon() {
  return {"rocksieve.ribbon",
          Expectation::kPass,
          {{"bucket", kBuckets},
           {"first group", kBucketGroups},
           {"third group", 4},
           {"coefficients 0", 1 << 8},
           {"coefficients 1", 1 << 8},
           {"coefficients 2", 1 << 8},
           {"fingerprint", 1 << 8}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const ribbon::Row row(hash, kBucketGroups);
            values[0] = ribbon::BucketIndex(hash, kBuckets);
            values[1] = row.FirstGroup(kBucketGroups);
            values[2] = row.ThirdGroupDistance() - 4;
            for (int i = 0; i < 3; i++) values[3 + i] = row.Coefficients() >> (8 * i) & 0xFF;
            values[6] = ribbon::Fingerprint(hash) & 0xFF;
          }};
}

// Partial keys: the second bucket follows from the first one and the fingerprint, of which there
// are only 255.
Scheme PartialKeys() {
  return {"cuckoo, 8-bit partial keys",
          Expectation::kPartial,
          {{"first bucket", kBuckets}, {"second bucket", kBuckets}},
          [](std::string_view key, uint64_t* values) {
            const uint64_t hash = Xxh3(key);
            const uint64_t stored = cuckoo::StoredFingerprint(hash, 8);
            values[0] = MultiplyHigh64(hash, kBuckets);
            values[1] = AlternateCuckooBucket(values[0], static_cast<uint32_t>(stored), kBuckets);
          }};
}

}  // namespace

std::vector<Scheme> Schemes() {
  using enum Expectation;
  return {DynamicBloom("XXH3, double hashing", Xxh3, BloomHashing::kDouble, kPass),
          DynamicBloom("XXH3, enhanced double", Xxh3, BloomHashing::kEnhancedDouble, kPass),
          DynamicBloom("XXH3, independent", Xxh3, BloomHashing::kIndependent, kPass),
          StaticBloom(),
          StaticCuckoo(),
          StaticRibbon(),
          PartialKeys(),
          AdjacentProbes(),
          DynamicBloom("sum of bytes, double", SumOfBytes, BloomHashing::kDouble, kFail)};
}

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
