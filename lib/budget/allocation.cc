// SPDX-License-Identifier: Apache-2.0
#include "lib/budget/allocation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/budget/lookup_density.h"

namespace rocksieve {
namespace {

// Feedback stays within these multiples of the budget, and no file gets less than the last one.
constexpr double kLeastTarget = 0.6, kMostTarget = 1.25, kLeastFile = 0.5;

// Of a budget of bytes. No tree gets more bits per entry: they would save one read in some 20,000
// lookups, and a file that keeps its filter while the tree grows had better not have them.
constexpr double kMostBitsOfBytes = 16;
// A file that has more than this share of the entries in its range is its last run there.
constexpr double kLastRunShare = 0.5;
// All is to be within the budget once this share of the last run is rewritten.
constexpr double kRewritten = 0.2;
// While the last run is rewritten once, the tree grows by this share of what is above it, which is
// within these shares of the last run. Where files are rewritten seldom, it grows more.
constexpr double kGrowthByUpper = 0.7, kLeastUpper = 0.05, kMostUpper = 0.5, kLeastGrowth = 0.25;
// What memory costs on the average of a file's life is what it costs at this share of it.
constexpr double kMeanAge = 0.7;
// The price aims at the budget; what is given out ends at this multiple of it all the same, or at
// the second for files with less than kSmallShare of the entries in their range, which take little
// and save as much as any. At the budget itself most files would have what their inputs had.
constexpr double kFilled = 1.03, kFilledBySmall = 1.05, kSmallShare = 0.25;
// Of the bits that a job frees it may have this share, though all is given out.
constexpr double kOfFreed = 0.9;
// A small file gets its least bits though all is given out, if they are no more than half of what
// is left up to the first multiple of the budget; or if files from before had more than the second.
constexpr double kMostOver = 1.07, kInherited = 1.1;

// What the solver knows of a file.
struct Demand {
  double keys;  // that take of the budget
  // Of keys per lookup weight, 1 if the file has all keys: the price of its bits. The logarithm.
  double log_price_factor;
  double run_share;  // of the entries in its range, those that are its own
  const Hull* hull;
};

double BudgetedEntries(const std::vector<BudgetedFile>& files) {
  double entries = 0;
  for (const BudgetedFile& file : files) {
    if (file.budgeted) entries += static_cast<double>(file.entries);
  }
  return entries;
}

// Files that lookups seldom come to cost more than the file with all keys.
constexpr double kMostPriceFactor = 1 / kLeastDensity;

std::vector<Demand> DemandsOf(const Allocator& allocator, const std::vector<BudgetedFile>& files,
                              const LookupDensity* lookups) {
  const auto [even, heard] = lookups == nullptr ? BothLookupWeights{LookupWeights(files), {}}
                                                : LookupWeightsBothWays(files, *lookups);
  double all_keys = 0;
  for (const BudgetedFile& file : files) all_keys += static_cast<double>(file.filter_keys);
  std::vector<Demand> demands;
  demands.reserve(files.size());
  for (size_t i = 0; i < files.size(); i++) {
    const auto keys = static_cast<double>(files[i].filter_keys);
    // Keys and entries are not the same, so the factor might come out above 1 for a lonely file.
    const auto factor = [&](double weight, double most) {
      return all_keys > 0 ? std::clamp(keys / all_keys / std::max(weight, 1e-12), 1e-12, most)
                          : 1e-12;
    };
    const double run_share = factor(even[i], 1);
    const double price = heard.empty() ? run_share : factor(heard[i], kMostPriceFactor);
    demands.push_back({files[i].budgeted ? keys : 0, std::log(price), run_share,
                       &allocator.HullFor(files[i].filter_keys)});
  }
  return demands;
}

// Theta is given by its logarithm.
double BitsOf(const Demand& demand, double log_theta) {
  return demand.hull->BitsAtLog(log_theta + demand.log_price_factor);
}

double TotalBits(const std::vector<Demand>& demands, double log_theta) {
  double bits = 0;
  for (const Demand& demand : demands) bits += demand.keys * BitsOf(demand, log_theta);
  return bits;
}

// Of so many demands, those at nearly the same price are one: at steps of so many to the price's
// logarithm, the two steps that a demand is between share its keys. That is less than a thousandth
// of a bit per key away on the whole.
constexpr size_t kDemandsOneByOne = 200;
constexpr double kPriceSteps = 64;

std::vector<Demand> Grouped(const std::vector<Demand>& demands) {
  if (demands.size() <= kDemandsOneByOne) return demands;
  const auto [least, most] =
      std::minmax_element(demands.begin(), demands.end(), [](const Demand& a, const Demand& b) {
        return a.log_price_factor < b.log_price_factor;
      });
  const double begin = least->log_price_factor;
  const auto steps = static_cast<size_t>((most->log_price_factor - begin) * kPriceSteps) + 2;
  std::vector<std::pair<const Hull*, std::vector<double>>> keys_by_hull;
  for (const Demand& demand : demands) {
    auto found = std::find_if(keys_by_hull.begin(), keys_by_hull.end(),
                              [&](const auto& keys) { return keys.first == demand.hull; });
    if (found == keys_by_hull.end()) {
      found = keys_by_hull.insert(found, {demand.hull, std::vector<double>(steps)});
    }
    const double place = (demand.log_price_factor - begin) * kPriceSteps;
    const auto step = static_cast<size_t>(place);
    const double above = place - static_cast<double>(step);
    found->second[step] += (1 - above) * demand.keys;
    found->second[step + 1] += above * demand.keys;
  }
  std::vector<Demand> groups;
  for (const auto& [hull, keys] : keys_by_hull) {
    for (size_t i = 0; i < steps; i++) {
      const double log_price = begin + static_cast<double>(i) / kPriceSteps;
      if (keys[i] > 0) groups.push_back({keys[i], log_price, 0, hull});
    }
  }
  return groups;
}

// At which the demands take so many bits in all, or the nearest to that. TotalBits() is nearly a
// straight line over it, so a secant that keeps the root between its ends (the Illinois rule) needs
// a handful of steps.
double SolveTheta(const std::vector<Demand>& all_demands, double total_bits) {
  const std::vector<Demand> demands = Grouped(all_demands);
  double low = std::log(1e-16), high = std::log(1e6);
  double over = TotalBits(demands, low) - total_bits;
  double under = TotalBits(demands, high) - total_bits;
  if (over <= 0) return low;
  if (under >= 0) return high;
  const double close_enough = 1e-6 * total_bits;
  int same_side = 0;
  for (int step = 0; step < 60 && high - low > 1e-9; step++) {
    // Every fourth step halves, should the line have a long flat.
    const double middle =
        step % 4 == 3 ? (low + high) / 2 : low + (high - low) * over / (over - under);
    const double excess = TotalBits(demands, middle) - total_bits;
    if (std::abs(excess) <= close_enough) return middle;
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
  return (low + high) / 2;
}

}  // namespace

double AllocatorOptions::BitsOf(double entries) const {
  if (bytes == 0) return bits_per_entry * entries;
  return std::min(8 * static_cast<double>(bytes), kMostBitsOfBytes * entries);
}

Allocator::Allocator(const AllocatorOptions& options) : options_(options) {
  for (int i = 0; i <= kLastHull; i++) {
    hulls_[i] = std::make_unique<const Hull>(options.families, uint64_t{1} << i, options.cost_model,
                                             options.thorough);
  }
}

int Allocator::Log2Of(uint64_t keys) {
  const int log2 = keys <= 1 ? 0 : 63 - __builtin_clzll(keys + keys / 2);  // the nearest power
  return std::min(log2, kLastHull);
}

const Hull& Allocator::HullFor(uint64_t keys) const { return *hulls_[Log2Of(keys)]; }

FilterChoice Allocator::ChooseForPartition(uint64_t keys, double bits_per_key) const {
  // None goes without a filter on account of its frame, which is most of a tiny one.
  constexpr double kMostBits = 0.5;
  const Hull& hull = HullFor(keys);
  const double share = std::ldexp(1.0, Log2Of(keys)) / std::max(1.0, static_cast<double>(keys));
  const double frame_bits = hull.fixed_bits() * (share - 1);  // more than filters of the hull have
  return hull.Choose(bits_per_key - std::clamp(frame_bits, 0.0, kMostBits));
}

std::vector<FilterChoice> Allocator::Ideal(const std::vector<BudgetedFile>& files) const {
  return Ideal(files, options_.BitsOf(BudgetedEntries(files)));
}

std::vector<FilterChoice> Allocator::Ideal(const std::vector<BudgetedFile>& files,
                                           double total_bits) const {
  const std::vector<Demand> demands = DemandsOf(*this, files, nullptr);
  const double theta = SolveTheta(demands, total_bits);
  std::vector<FilterChoice> choices;
  choices.reserve(files.size());
  for (const Demand& demand : demands) {
    choices.push_back(demand.hull->Choose(BitsOf(demand, theta)));
  }
  return choices;
}

// While kRewritten of the last run is rewritten, other files are rewritten more often, by their
// share of the entries in their range. Then all is to be within the budget: what is not rewritten
// as it is, all else with the bits that the price gives it. The price rises as the tree grows, so a
// file pays more that will be there for longer.
double Allocator::DecideBitsOfBytes(const std::vector<BudgetedFile>& files, size_t next,
                                    const Outlook& outlook) const {
  std::vector<Demand> demands = DemandsOf(*this, files, outlook.lookups);
  const Demand own = demands[next];
  const double budget = 8 * static_cast<double>(options_.bytes);
  const double ideal = BitsOf(own, SolveTheta(demands, options_.BitsOf(BudgetedEntries(files))));
  double taken = 0, keys = 0, undecided_keys = 0, last_run_keys = 0;
  for (size_t i = 0; i < files.size(); i++) {
    keys += demands[i].keys;
    if (demands[i].run_share > kLastRunShare) last_run_keys += demands[i].keys;
    if (i == next || files[i].filter_bits < 0) {
      undecided_keys += demands[i].keys;
    } else {
      taken += files[i].filter_bits;
    }
  }
  // Data that is written in the order of keys overlaps nothing, and nothing will rewrite it.
  const bool appends = outlook.is_flush && own.run_share > kLastRunShare;
  const bool stays = outlook.rewrites_seldom || appends;
  const double upper = (keys - last_run_keys) / std::max(last_run_keys, 1.0);
  const double growth = stays ? std::max(kLeastGrowth, 2 * last_run_keys / std::max(keys, 1.0) - 1)
                              : kGrowthByUpper * std::clamp(upper, kLeastUpper, kMostUpper);
  const double mean_bits = std::min(kMostBitsOfBytes, budget / std::max(keys, 1.0));
  double kept = 0;
  for (size_t i = 0; i < files.size(); i++) {
    Demand& demand = demands[i];
    double rewritten = stays ? 0 : std::min(1.0, kRewritten / demand.run_share);
    if (i == next || files[i].filter_bits < 0) rewritten = 1;
    kept += (1 - rewritten) * std::max(0.0, files[i].filter_bits);
    demand.keys *= rewritten + (stays ? growth : kRewritten * growth);
    // A bit per key less doubles the price.
    if (!stays) {
      demand.log_price_factor += kMeanAge * growth * demand.run_share * mean_bits * std::log(2.0);
    }
  }
  double bits = std::min(ideal, BitsOf(demands[next], SolveTheta(demands, budget - kept)));
  if (!stays) bits = std::max(bits, kLeastFile * ideal);
  const bool is_small = own.run_share < kSmallShare;
  const double filled = (is_small ? kFilledBySmall : kFilled) * budget;
  const double most = std::max({0.0, filled - taken, kOfFreed * outlook.freed_bits});
  bits = std::min(bits, most / std::max(undecided_keys, 1.0));
  if (!is_small) return bits;
  double least = kLeastFile * ideal;
  if (taken + outlook.freed_bits < kInherited * budget) {
    least = std::clamp((kMostOver * budget - taken) / (2 * std::max(own.keys, 1.0)), 0.0, least);
  }
  return std::max(bits, least);
}

double Allocator::DecideBits(const std::vector<BudgetedFile>& files, size_t next,
                             const Outlook& outlook) const {
  if (options_.bytes != 0) return DecideBitsOfBytes(files, next, outlook);
  const std::vector<Demand> demands = DemandsOf(*this, files, outlook.lookups);
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

}  // namespace rocksieve
