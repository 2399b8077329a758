#include "experiments/optimum/optimum.h"

#include <cmath>
#include <stdexcept>

#include "experiments/frame/word_list.h"
#include "experiments/optimum/tables.h"

namespace rocksieve::experiments {
namespace {

constexpr size_t kKeys = 97'661;  // as published

OptimumInput Input(bool quick) {
  std::vector<std::string> words = ShuffledDistinctWords();
  if (words.size() < 3 * kKeys) throw std::runtime_error("wamerican-insane has too few words");
  OptimumInput input;
  const auto keys_end = words.begin() + kKeys, others_end = keys_end + kKeys;
  input.keys.assign(words.begin(), keys_end);
  input.other_keys.assign(keys_end, others_end);
  input.missing.words.assign(others_end, words.end());
  input.missing.random_hashes = quick ? 2'000'000 : 20'000'000;
  return input;
}

}  // namespace

void Check(const std::string& what, const CountedRate& counted, double expected, Run* run) {
  constexpr double kMostScore = 5, kFormulaError = 0.03;
  const bool near = std::abs(counted.Rate() - expected) <= kFormulaError * expected;
  if (near || std::abs(counted.ScoreAgainst(expected)) <= kMostScore) return;
  run->failures.push_back("optimum: " + what + ": a rate of " + Significant(counted.Rate(), 3) +
                          ", where the formula says " + Significant(expected, 3));
}

Outcome MeasureOptimum(Run* run) {
  const OptimumInput input = Input(run->settings.quick);
  const Table probes = MeasureProbes(input, run), keys = MeasureKeys(input, run);
  return {{probes, keys, MeasurePublishedPoints(input, run)},
          {ProbesPicture(probes), KeysPicture(keys)}};
}

}  // namespace rocksieve::experiments
