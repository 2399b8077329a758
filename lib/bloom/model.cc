#include "lib/bloom/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

namespace rocksieve::bloom {
namespace {

struct FillEntry {
  double usual, thorough;
};
constexpr FillEntry kLaneFill[] = {
#include "lib/bloom/fill_table.inc"
};
constexpr int kLargestThrows = std::size(kLaneFill) - 1;

double TableEntry(int bits, bool thorough) {
  return thorough ? kLaneFill[bits].thorough : kLaneFill[bits].usual;
}

// The special word's top byte: a probe lands in it with probability 1/8, and else counts as a hit.
double SpecialFill(int bits) { return 1 - std::pow(63.0 / 64, bits) / 8; }

// lgamma() is most of the cost of the sums below.
double LogFactorial(int n) {
  // Never destroyed: background threads may ask while the process exits.
  static const std::vector<double>& table = *[] {
    auto* logs = new std::vector<double>(2048);
    for (size_t i = 0; i < logs->size(); i++) {
      (*logs)[i] = std::lgamma(static_cast<double>(i) + 1);
    }
    return logs;
  }();
  return static_cast<size_t>(n) < table.size() ? table[n] : std::lgamma(n + 1.0);
}

double BinomialProbability(int n, int k, double p) {
  if (p <= 0 || p >= 1) return k == (p >= 1 ? n : 0) ? 1 : 0;
  const double log_choose = LogFactorial(n) - LogFactorial(k) - LogFactorial(n - k);
  return std::exp(log_choose + k * std::log(p) + (n - k) * std::log1p(-p));
}

// The probes of a key that has fewer than 8 spread over the seven lanes alike.
double PassRateOfRing(int probes, bool thorough, int keys) {
  double fill = 0;
  for (int bits = 0; bits <= keys; bits++) {
    fill += BinomialProbability(keys, bits, static_cast<double>(probes) / kLanes) *
            LaneFill(bits, thorough);
  }
  return std::pow(fill, probes);
}

// Of 12 probes, the last four go to the one half of the lanes or the other.
double PassRateOf12(bool thorough, int keys) {
  double rate = 0;
  for (int low = 0; low <= keys; low++) {
    const int high = keys - low;
    const double low_lanes = std::pow(LaneFill(keys + low, thorough), 4);
    const double high_lanes =
        std::pow(LaneFill(keys + high, thorough), 3) * SpecialFill(keys + high);
    const double passes = low_lanes * high_lanes * (low_lanes + high_lanes) / 2;
    rate += BinomialProbability(keys, low, 0.5) * passes;
  }
  return rate;
}

template <typename KeysInLineProbability>
double MeanOverLines(int probes, bool thorough, double keys_per_line,
                     KeysInLineProbability probability) {
  // Ten standard deviations hold all that matters, even where the rate itself is tiny.
  const double spread = 10 * std::sqrt(keys_per_line) + 10;
  const int from = static_cast<int>(std::max(0.0, keys_per_line - spread));
  const int to = static_cast<int>(keys_per_line + spread);
  double rate = 0;
  for (int keys = from; keys <= to; keys++) {
    rate += probability(keys) * LinePassRate(probes, thorough, keys);
  }
  return std::min(rate, 1.0);
}

}  // namespace

double LaneFill(int bits, bool thorough) {
  if (bits <= kLargestThrows) return TableEntry(bits, thorough);
  // Beyond the table nearly all bits are set and seeds no longer matter.
  return 1 -
         (1 - TableEntry(kLargestThrows, thorough)) * std::pow(63.0 / 64, bits - kLargestThrows);
}

double LinePassRate(int probes, bool thorough, int keys) {
  if (keys == 0) return 0;
  // Sums of many rounded terms can exceed 1 by a hair.
  if (probes < 8) return std::min(PassRateOfRing(probes, thorough, keys), 1.0);
  if (probes == 12) return std::min(PassRateOf12(thorough, keys), 1.0);
  const int per_lane = probes / 8;
  const double lane =
      std::pow(LaneFill(per_lane * keys, thorough), kLanes) * SpecialFill(per_lane * keys);
  return std::pow(lane, per_lane);
}

double FalsePositiveRate(const Plan& plan, uint64_t keys) {
  if (keys == 0 || plan.lines == 0) return 0;
  const double mean = static_cast<double>(keys) / static_cast<double>(plan.lines);
  // All bits are set. No builder makes such a filter, but a block may claim any number of keys.
  if (mean > 5000) return 1;
  if (plan.lines > 1000) return FalsePositiveRateOfManyLines(plan.probes, plan.thorough, mean);
  const int n = static_cast<int>(std::min<uint64_t>(keys, 1 << 30));
  const double p = 1.0 / static_cast<double>(plan.lines);
  return MeanOverLines(plan.probes, plan.thorough, mean, [=](int keys_in_line) {
    return keys_in_line > n ? 0 : BinomialProbability(n, keys_in_line, p);
  });
}

double FalsePositiveRateOfManyLines(int probes, bool thorough, double keys_per_line) {
  return MeanOverLines(probes, thorough, keys_per_line, [=](int keys_in_line) {
    return std::exp(keys_in_line * std::log(keys_per_line) - keys_per_line -
                    LogFactorial(keys_in_line));  // Poisson
  });
}

}  // namespace rocksieve::bloom
