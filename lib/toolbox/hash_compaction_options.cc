#include "lib/toolbox/hash_compaction_options.h"

#include <cmath>
#include <stdexcept>

namespace rocksieve {
namespace {

double MatchProbability(int value_bits) { return 1 / (std::ldexp(1.0, value_bits) - 1); }

// H(a) - H(b), a >= b >= 1, from the asymptotic series of the harmonic numbers; wrong by less than
// 1 / (120 b^4).
double HarmonicDifference(double a, double b) {
  const auto correction = [](double x) { return 1 / (2 * x) - 1 / (12 * x * x); };
  return std::log(a / b) + correction(a) - correction(b);
}

[[noreturn]] void Refuse(const std::string& what) {
  throw std::invalid_argument("HashCompactionOptions::ForKeys: " + what);
}

}  // namespace

bool IsPrime(uint64_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0) return false;
  for (uint64_t divisor = 3; divisor * divisor <= n; divisor += 2) {
    if (n % divisor == 0) return false;
  }
  return true;
}

uint64_t PrimeFrom(uint64_t n) {
  while (!IsPrime(n)) n++;
  return n;
}

std::string WhatIsWrong(const HashCompactionOptions& options) {
  if (options.slots < 2 || options.slots > HashCompactionOptions::kMostSlots) {
    return "HashCompaction: slots is " + std::to_string(options.slots) +
           "; give 2 to 2^40 - 87, or let ForKeys() choose";
  }
  if (options.value_bits < HashCompactionOptions::kLeastValueBits ||
      options.value_bits > HashCompactionOptions::kMostValueBits) {
    return "HashCompaction: value_bits is " + std::to_string(options.value_bits) +
           "; give 2 to 48, or let ForKeys() choose";
  }
  return "";
}

double HashCompactionRate(int value_bits, double load) {
  const double match = load * MatchProbability(value_bits);
  return match / (1 - load + match);
}

double HashCompactionOmissionProbability(uint64_t slots, int value_bits, uint64_t keys) {
  const double m = static_cast<double>(slots), n = static_cast<double>(keys);
  const double comparisons = (m + 1) * HarmonicDifference(m + 1, m - n + 1) - n;
  return -std::expm1(comparisons * std::log1p(-MatchProbability(value_bits)));
}

HashCompactionOptions HashCompactionOptions::ForKeys(uint64_t keys, double false_positive_rate) {
  if (keys == 0) Refuse("keys is 0; give the number of keys to be held, at least 1");
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    Refuse("false_positive_rate is " + std::to_string(false_positive_rate) +
           "; give a share between 0 and 1, such as 0.01");
  }
  const double keys_wanted = static_cast<double>(keys);
  HashCompactionOptions best;
  double fewest_bits = INFINITY;
  for (int bits = kLeastValueBits; bits <= kMostValueBits; bits++) {
    // The load at which this width has that rate: HashCompactionRate() solved for it.
    const double match = MatchProbability(bits);
    const double load =
        false_positive_rate / (false_positive_rate + match * (1 - false_positive_rate));
    const double slots = std::ceil(keys_wanted / load) + 1;  // one is always empty
    if (slots * bits >= fewest_bits || slots > static_cast<double>(kMostSlots)) continue;
    fewest_bits = slots * bits;
    best.slots = static_cast<uint64_t>(slots);
    best.value_bits = bits;
  }
  if (best.slots == 0) {
    Refuse("keys is " + std::to_string(keys) + " and false_positive_rate " +
           std::to_string(false_positive_rate) +
           ", which needs more than 2^40 slots; take fewer keys or a higher rate");
  }
  return best;
}

}  // namespace rocksieve
