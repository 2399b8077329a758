#include "lib/bloom/plan.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lib/bloom/model.h"

namespace rocksieve::bloom {

namespace {

constexpr double kBitsPerLine = 8 * kLineBytes;

// The expected rate of large filters at 1, 1.125, 1.25 .. 64 bits per key, computed on first use.
class RateCurve {
 public:
  static const RateCurve& Get(bool thorough) {
    // Never destroyed: RocksDB's background threads may build filters while the process exits.
    if (thorough) {
      static const RateCurve& of_thorough_builds = *new RateCurve(true);
      return of_thorough_builds;
    }
    static const RateCurve& of_usual_builds = *new RateCurve(false);
    return of_usual_builds;
  }

  // Bits per key at which the rate has come down to `rate`; rates are nearly exponential in the
  // bits, so their logarithms are interpolated.
  double BitsPerKey(double rate) const {
    const double log_rate = std::log(rate);
    size_t i = 1;
    while (i + 1 < log_rates_.size() && log_rates_[i] > log_rate) i++;
    const double share = (log_rates_[i - 1] - log_rate) / (log_rates_[i - 1] - log_rates_[i]);
    return BitsAt(i - 1) + kStep * std::clamp(share, 0.0, 1.0);
  }

 private:
  static constexpr double kStep = 0.125;
  static double BitsAt(size_t i) { return kMinBitsPerKey + kStep * static_cast<double>(i); }

  explicit RateCurve(bool thorough) {
    for (size_t i = 0; BitsAt(i) <= kMaxBitsPerKey; i++) {
      const double bits = BitsAt(i);
      log_rates_.push_back(
          std::log(FalsePositiveRateOfManyLines(ProbesFor(bits), thorough, kBitsPerLine / bits)));
    }
  }

  std::vector<double> log_rates_;
};

// So that a block stays below 4 GiB, where RocksDB's own reader would no longer find its end.
constexpr uint64_t kMaxLines = (kMaxPayloadBytes / kLineBytes);

// Below this many lines the last one is worth so much that the budget is rounded up.
constexpr double kFewLines = 8;

double WantedLines(uint64_t keys, const Budget& budget) {
  if (!budget.is_rate) {
    const double lines = budget.PayloadBits(keys) / kBitsPerLine;
    return lines < kFewLines ? std::ceil(lines) : std::round(lines);
  }
  const double bits_per_key = RateCurve::Get(budget.thorough).BitsPerKey(budget.amount);
  return std::ceil(budget.factor * bits_per_key * static_cast<double>(keys) / kBitsPerLine);
}

}  // namespace

Plan PlanFor(uint64_t keys, const Budget& budget) {
  Plan plan;
  plan.thorough = budget.thorough;
  if (keys == 0) return plan;
  const double lines = std::clamp(WantedLines(keys, budget), 1.0, double{kMaxLines});
  plan.lines = static_cast<uint64_t>(lines);
  plan.probes = ProbesFor(lines * kBitsPerLine / static_cast<double>(keys));
  return plan;
}

int ProbesFor(double bits_per_key) {
  // Where the curves of FalsePositiveRateOfManyLines() cross (tests/unit/bloom_test.cc); but
  // 8 probes, which are quicker to ask, are kept for the last 7 % in which 12 would be better.
  constexpr struct {
    double below_bits_per_key;
    int probes;
  } kSteps[] = {{1.7, 1}, {2.95, 2}, {4.2, 3}, {5.5, 4}, {7.0, 5}, {7.4, 6}, {13, 8}, {18, 12}};
  for (const auto& step : kSteps) {
    if (bits_per_key < step.below_bits_per_key) return step.probes;
  }
  return 16;
}

}  // namespace rocksieve::bloom
