// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/allocation.h"

#include <algorithm>
#include <cmath>

namespace rocksieve {
namespace {

// Feedback stays within these multiples of the budget, and no file gets less than the last one.
constexpr double kLeastTarget = 0.6, kMostTarget = 1.25, kLeastFile = 0.5;

// What the solver knows of a file.
struct Demand {
  double keys;          // that take of the budget
  double price_factor;  // keys per lookup weight, 1 if the file has all keys: the price of its bits
  const Hull* hull;
};

double BudgetedEntries(const std::vector<BudgetedFile>& files) {
  double entries = 0;
  for (const BudgetedFile& file : files) {
    if (file.budgeted) entries += static_cast<double>(file.entries);
  }
  return entries;
}

std::vector<Demand> DemandsOf(const Allocator& allocator, const std::vector<BudgetedFile>& files) {
  const std::vector<double> shares = LookupWeights(files);
  double all_keys = 0;
  for (const BudgetedFile& file : files) all_keys += static_cast<double>(file.filter_keys);
  std::vector<Demand> demands;
  demands.reserve(files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const auto keys = static_cast<double>(files[i].filter_keys);
    // Keys and entries are not the same, so the factor might come out above 1 for a lonely file.
    const double share = std::max(shares[i], 1e-12);
    const double factor = all_keys > 0 ? keys / all_keys / share : 0;
    demands.push_back({files[i].budgeted ? keys : 0, std::clamp(factor, 1e-12, 1.0),
                       &allocator.HullFor(files[i].filter_keys)});
  }
  return demands;
}

double BitsOf(const Demand& demand, double theta) {
  return demand.hull->BitsAt(theta * demand.price_factor);
}

double TotalBits(const std::vector<Demand>& demands, double theta) {
  double bits = 0;
  for (const Demand& demand : demands) bits += demand.keys * BitsOf(demand, theta);
  return bits;
}

// The theta at which the demands take so many bits in all, or the nearest to that. TotalBits() is
// nearly a straight line over log theta, so a secant that keeps the root between its ends (the
// Illinois rule) needs a handful of steps.
double SolveTheta(const std::vector<Demand>& demands, double total_bits) {
  double low = std::log(1e-16), high = std::log(1e6);
  double over = TotalBits(demands, std::exp(low)) - total_bits;
  double under = TotalBits(demands, std::exp(high)) - total_bits;
  if (over <= 0) return std::exp(low);
  if (under >= 0) return std::exp(high);
  const double close_enough = 1e-6 * total_bits;
  int same_side = 0;
  for (int step = 0; step < 60 && high - low > 1e-9; step++) {
    // Every fourth step halves, should the line have a long flat.
    const double middle =
        step % 4 == 3 ? (low + high) / 2 : low + (high - low) * over / (over - under);
    const double excess = TotalBits(demands, std::exp(middle)) - total_bits;
    if (std::abs(excess) <= close_enough) return std::exp(middle);
    if (excess > 0) {
      low = middle;
      over = excess;
      if (same_side == 1) under /= 2;
      same_side = 1;
    } else {
      high = middle;
      under = excess;
      if (same_side == -1) over /= 2;
      same_side = -1;
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace

Allocator::Allocator(const AllocatorOptions& options) : options_(options) {
  for (int i = 0; i <= kLastHull; i++) {
    hulls_[i] = std::make_unique<const Hull>(options.families, uint64_t{1} << i, options.cost_model,
                                             options.thorough);
  }
}

const Hull& Allocator::HullFor(uint64_t keys) const {
  const int log2 = keys <= 1 ? 0 : 63 - __builtin_clzll(keys + keys / 2);  // the nearest power
  return *hulls_[std::min(log2, kLastHull)];
}

std::vector<FilterChoice> Allocator::Ideal(const std::vector<BudgetedFile>& files) const {
  const std::vector<Demand> demands = DemandsOf(*this, files);
  const double entries = BudgetedEntries(files);
  const double theta = SolveTheta(demands, options_.bits_per_entry * entries);
  std::vector<FilterChoice> choices;
  choices.reserve(files.size());
  for (const Demand& demand : demands) {
    choices.push_back(demand.hull->Choose(BitsOf(demand, theta)));
  }
  return choices;
}

FilterChoice Allocator::Decide(const std::vector<BudgetedFile>& files, size_t next) const {
  return HullFor(files[next].filter_keys).Choose(DecideBits(files, next));
}

double Allocator::DecideBits(const std::vector<BudgetedFile>& files, size_t next) const {
  const std::vector<Demand> demands = DemandsOf(*this, files);
  const double budget = options_.bits_per_entry;
  const double entries = BudgetedEntries(files);
  double theta = SolveTheta(demands, budget * entries);
  double excess = 0;
  for (size_t i = 0; i < files.size(); i++) {
    if (i == next || !files[i].budgeted || files[i].filter_bits < 0) continue;
    excess += files[i].filter_bits - demands[i].keys * BitsOf(demands[i], theta);
  }
  if (entries > 0 && excess != 0) {
    const double target = std::clamp(budget - options_.feedback * excess / entries,
                                     kLeastTarget * budget, kMostTarget * budget);
    theta = SolveTheta(demands, target * entries);
  }
  const Demand& demand = demands[next];
  double least = demand.hull->fixed_bits() + kLeastFile * budget;
  if (kLeastFile * budget >= 1) least = std::max(least, demand.hull->fewest_bits());
  return std::max(least, BitsOf(demand, theta));
}

double Allocator::CostOf(const std::vector<BudgetedFile>& files,
                         const std::vector<double>& bits_per_key) const {
  const std::vector<double> shares = LookupWeights(files);
  double cost = 0;
  for (size_t i = 0; i < files.size(); i++) {
    cost += shares[i] * HullFor(files[i].filter_keys).CostAt(bits_per_key[i]);
  }
  return cost;
}

}  // namespace rocksieve
