// SPDX-License-Identifier: Apache-2.0
#include "lib/bloom/filter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace rocksieve::bloom {
namespace {

constexpr double kBitsPerLine = 8 * kLineBytes;

// The expected rate of large filters at 1, 1.125, 1.25 .. 64 bits per key, computed on first use.
class RateCurve {
 public:
  static const RateCurve& Get(Effort effort) {
    if (effort == Effort::kUsual) return Of<Effort::kUsual>();
    return effort == Effort::kFast ? Of<Effort::kFast>() : Of<Effort::kThorough>();
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

  template <Effort kEffort>
  static const RateCurve& Of() {
    // Never destroyed: RocksDB's background threads may build filters while the process exits.
    static const RateCurve& curve = *new RateCurve(kEffort);
    return curve;
  }

  explicit RateCurve(Effort effort) {
    for (size_t i = 0; BitsAt(i) <= kMaxBitsPerKey; i++) {
      const double bits = BitsAt(i);
      log_rates_.push_back(
          std::log(FalsePositiveRateOfManyLines(ProbesFor(bits), effort, kBitsPerLine / bits)));
    }
  }

  std::vector<double> log_rates_;
};

// So that a block stays below 4 GiB, where RocksDB's own reader would no longer find its end.
constexpr uint64_t kMaxLines = (kMaxPayloadBytes / kLineBytes);

// Below this many lines the last one is worth so much that the budget is rounded up.
constexpr double kFewLines = 8;

Effort EffortOf(const Budget& budget) {
  return budget.thorough ? Effort::kThorough : budget.fast ? Effort::kFast : Effort::kUsual;
}

double WantedLines(uint64_t keys, const Budget& budget) {
  if (!budget.is_rate) {
    const double lines = budget.PayloadBits(keys) / kBitsPerLine;
    return lines < kFewLines ? std::ceil(lines) : std::round(lines);
  }
  const double bits_per_key = RateCurve::Get(EffortOf(budget)).BitsPerKey(budget.amount);
  return std::ceil(budget.factor * bits_per_key * static_cast<double>(keys) / kBitsPerLine);
}

constexpr double kLaneFill[][kEfforts] = {
#include "lib/bloom/fill_table.inc"
};
constexpr int kLargestThrows = std::size(kLaneFill) - 1;

double TableEntry(int bits, Effort effort) {
  return kLaneFill[bits][static_cast<int>(effort)];
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
double PassRateOfRing(int probes, Effort effort, int keys) {
  double fill = 0;
  for (int bits = 0; bits <= keys; bits++) {
    fill += BinomialProbability(keys, bits, static_cast<double>(probes) / kLanes) *
            LaneFill(bits, effort);
  }
  return std::pow(fill, probes);
}

// Of 12 probes, the last four go to the one half of the lanes or the other.
double PassRateOf12(Effort effort, int keys) {
  double rate = 0;
  for (int low = 0; low <= keys; low++) {
    const int high = keys - low;
    const double low_lanes = std::pow(LaneFill(keys + low, effort), 4);
    const double high_lanes =
        std::pow(LaneFill(keys + high, effort), 3) * SpecialFill(keys + high);
    const double passes = low_lanes * high_lanes * (low_lanes + high_lanes) / 2;
    rate += BinomialProbability(keys, low, 0.5) * passes;
  }
  return rate;
}

template <typename KeysInLineProbability>
double MeanOverLines(int probes, Effort effort, double keys_per_line,
                     KeysInLineProbability probability) {
  // Ten standard deviations hold all that matters, even where the rate itself is tiny.
  const double spread = 10 * std::sqrt(keys_per_line) + 10;
  const int from = static_cast<int>(std::max(0.0, keys_per_line - spread));
  const int to = static_cast<int>(keys_per_line + spread);
  double rate = 0;
  for (int keys = from; keys <= to; keys++) {
    rate += probability(keys) * LinePassRate(probes, effort, keys);
  }
  return std::min(rate, 1.0);
}

}  // namespace

Plan PlanFor(uint64_t keys, const Budget& budget) {
  Plan plan;
  plan.effort = EffortOf(budget);
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

double LaneFill(int bits, Effort effort) {
  if (bits <= kLargestThrows) return TableEntry(bits, effort);
  // Beyond the table nearly all bits are set and seeds no longer matter.
  return 1 -
         (1 - TableEntry(kLargestThrows, effort)) * std::pow(63.0 / 64, bits - kLargestThrows);
}

double LinePassRate(int probes, Effort effort, int keys) {
  if (keys == 0) return 0;
  // Sums of many rounded terms can exceed 1 by a hair.
  if (probes < 8) return std::min(PassRateOfRing(probes, effort, keys), 1.0);
  if (probes == 12) return std::min(PassRateOf12(effort, keys), 1.0);
  const int per_lane = probes / 8;
  const double lane =
      std::pow(LaneFill(per_lane * keys, effort), kLanes) * SpecialFill(per_lane * keys);
  return std::pow(lane, per_lane);
}

double FalsePositiveRate(const Plan& plan, uint64_t keys) {
  if (keys == 0 || plan.lines == 0) return 0;
  const double mean = static_cast<double>(keys) / static_cast<double>(plan.lines);
  // All bits are set. No builder makes such a filter, but a block may claim any number of keys.
  if (mean > 5000) return 1;
  if (plan.lines > 1000) return FalsePositiveRateOfManyLines(plan.probes, plan.effort, mean);
  const int n = static_cast<int>(std::min<uint64_t>(keys, 1 << 30));
  const double p = 1.0 / static_cast<double>(plan.lines);
  return MeanOverLines(plan.probes, plan.effort, mean, [=](int keys_in_line) {
    return keys_in_line > n ? 0 : BinomialProbability(n, keys_in_line, p);
  });
}

double FalsePositiveRateOfManyLines(int probes, Effort effort, double keys_per_line) {
  return MeanOverLines(probes, effort, keys_per_line, [=](int keys_in_line) {
    return std::exp(keys_in_line * std::log(keys_per_line) - keys_per_line -
                    LogFactorial(keys_in_line));  // Poisson
  });
}

namespace {

// The masks of a line take 512 bytes, so lines are built in runs whose masks stay in the L1 cache
// or, in large filters, in the L2 cache; and, but for very large ones, in about a thousand runs, so
// that the partition writes to few places at once.
constexpr int kSmallestRunLog2 = 5, kLargestRunLog2 = 9;

int LinesPerRunLog2(uint64_t lines) {
  int log2 = kSmallestRunLog2;
  while ((lines >> log2) > 1024 && log2 < kLargestRunLog2) log2++;
  return log2;
}

}  // namespace

Payload Build(HashList hashes, const Plan& plan, size_t head_room, size_t tail_room,
              const Kernel& kernel) {
  Payload built;
  built.size = PayloadBytes(plan);
  built.parameter = ParameterOf(plan.probes, plan.effort);
  built.data.reset(new char[head_room + built.size + tail_room]);
  if (plan.lines == 0) return built;
  auto* const payload = reinterpret_cast<uint8_t*>(built.data.get() + head_room);
  const int log2 = LinesPerRunLog2(plan.lines);
  const uint64_t lines_per_run = uint64_t{1} << log2;
  const size_t runs = (plan.lines + lines_per_run - 1) >> log2;
  const PartitionedHashes parts = PartitionHashes(std::move(hashes), runs, [&](uint64_t hash) {
    return static_cast<size_t>(LineIndex(hash, plan.lines) >> log2);
  });

  const SeedChoice choose_seeds = kernel.seed_choice_for(plan.effort);
  const auto masks = std::make_unique<LineMasks[]>(std::min(lines_per_run, plan.lines));
  for (size_t run = 0; run < runs; run++) {
    const uint64_t first_line = run << log2;
    const uint64_t lines = std::min(lines_per_run, plan.lines - first_line);
    std::memset(masks.get(), 0, lines * sizeof(LineMasks));
    const size_t begin = parts.begin_of_part[run];
    kernel.add_keys(parts.hashes.data() + begin, parts.begin_of_part[run + 1] - begin, plan.probes,
                    plan.lines, first_line, masks.get());
    for (uint64_t i = 0; i < lines; i++) {
      choose_seeds(masks[i], payload + (first_line + i) * kLineBytes);
    }
  }
  return built;
}

void LineArray::MayContainHashes(const uint64_t* hashes, size_t count, bool* may_contain) const {
  many_(*this, hashes, count, may_contain);
}

std::unique_ptr<Filter> Open(const FilterBlockInfo& info, const Kernel& kernel) {
  const uint64_t lines = info.payload.size() / kLineBytes;
  if (info.payload.size() % kLineBytes != 0 || lines == 0 || lines > UINT32_MAX) return nullptr;
  if (!IsParameter(info.parameter)) return nullptr;
  return std::make_unique<LineArray>(reinterpret_cast<const uint8_t*>(info.payload.data()), lines,
                                     info.salt, kernel.queries_for(ProbesOf(info.parameter)));
}

}  // namespace rocksieve::bloom
