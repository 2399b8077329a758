// SPDX-License-Identifier: Apache-2.0
// The nanoseconds of lib/join/matching/cost_model.cc, measured. `./run bench join --prices`.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/clock.h"
#include "bench/join/sessions.h"
#include "lib/cpu/isa.h"
#include "lib/join/matching/matching.h"
#include "lib/join/matching/matching_range.h"
#include "lib/join/session/reconciliation.h"
#include "lib/memory/page_pool.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using join::Part;
using join::Strategy;

constexpr uint64_t kSalt = 7;
constexpr size_t kSender = 1;  // the server begins

// A strategy on two sides of as many keys: what its steps take, of both.
struct Trial {
  Strategy strategy = Strategy::kAuto;
  double common = 0;                // share of the keys
  double bits_per_cpu_ns = 0.0001;  // decides about compression
  std::map<std::pair<uint64_t, std::string>, double> ns =
      {};                            // of a step of this number, by what it does; the least
  double filtered = 0, queried = 0;  // keys in filters, and asked for

  // Of all steps with this name.
  double Sum(std::string_view name) const {
    double sum = 0;
    for (const auto& [step, took] : ns) sum += step.second == name ? took : 0;
    return sum;
  }
};

class PriceRun {
 public:
  explicit PriceRun(uint64_t keys) : keys_(keys) {}

  void Run(Trial* trial) {
    const double all = static_cast<double>(keys_);
    const KeySets sets =
        RandomKeySets(keys_, keys_, static_cast<uint64_t>(trial->common * all), kSalt);
    const std::unique_ptr<join::Source> sources[2] = {SourceOf(&sets.client),
                                                      SourceOf(&sets.server)};
    join::RangeKeys keys[2];
    uint64_t number = 0;
    const auto record = [&](const char* name, double begin) {
      const double ns = CpuClock::Nanoseconds() - begin;
      double& least = trial->ns.emplace(std::pair(number++, name), ns).first->second;
      least = std::min(least, ns);
    };
    std::unique_ptr<join::Matching> sides[2];
    for (const int side : {0, 1}) {
      const double begin = CpuClock::Nanoseconds();
      const absl::Status status =
          join::ScanKeys(sources[side].get(), {}, kSalt, 2 * keys_, &keys[side]);
      if (!status.ok()) std::abort();
      EncodeEstimator(keys[side].candidates, join::CountersFor(keys_, keys_), kSalt);
      record("scan", begin);
    }
    for (const int side : {0, 1}) {
      join::MatchingOptions options;
      options.salt = kSalt;
      options.is_client = side == 0;
      options.begins = side == kSender;
      options.their_count = all;
      options.common = trial->common * all;
      options.planner.strategy = trial->strategy;
      options.planner.weights.bits_per_cpu_ns = trial->bits_per_cpu_ns;
      options.planner.keys = keys[side].bits;
      sides[side] = std::make_unique<join::Matching>(std::move(keys[side].candidates), options,
                                                     join::ReaderOf(sources[side].get(), {}));
    }
    trial->filtered = trial->queried = 0;
    double candidates[2] = {all, all};
    for (size_t from = 1;; from = 1 - from) {
      join::Matching& sender = *sides[from];
      join::Matching& receiver = *sides[1 - from];
      if (sender.state() != join::Matching::State::kMyTurn) break;
      std::string step;
      double begin = CpuClock::Nanoseconds();
      if (!sender.NextStep(&step).ok()) std::abort();
      const bool is_filter = !step.empty() && static_cast<Part>(step[0]) == Part::kFilter;
      record(is_filter ? "build" : from == kSender ? "sender" : "receiver", begin);
      begin = CpuClock::Nanoseconds();
      if (!receiver.Receive(step).ok()) std::abort();
      record(is_filter ? "query" : from == kSender ? "receiver" : "sender", begin);
      if (!is_filter) continue;
      trial->filtered += candidates[from];
      trial->queried += candidates[1 - from];
      candidates[1 - from] = all - static_cast<double>(receiver.counts().candidates_pruned);
    }
    if (sides[0]->state() != join::Matching::State::kReconciled) std::abort();
  }

 private:
  const uint64_t keys_;
};

// The x and y with which a x + b y is nearest to c, each row relative to its c.
struct Equations {
  double aa = 0, ab = 0, bb = 0, ac = 0, bc = 0;

  void Add(double a, double b, double c) {
    a /= c;
    b /= c;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ac += a;
    bc += b;
  }
  double OnlyFirst() const { return ac / aa; }
  std::pair<double, double> Solution() const {
    const double determinant = aa * bb - ab * ab;
    return {(ac * bb - bc * ab) / determinant, (bc * aa - ac * ab) / determinant};
  }
};

struct Price {
  const char* name;
  double join::PartPrices::*field;
};

constexpr Price kPrices[] = {{"filter_build_ns", &join::PartPrices::filter_build_ns},
                             {"filter_query_ns", &join::PartPrices::filter_query_ns},
                             {"list_send_ns", &join::PartPrices::list_send_ns},
                             {"list_receive_ns", &join::PartPrices::list_receive_ns},
                             {"keys_send_ns", &join::PartPrices::keys_send_ns},
                             {"keys_receive_ns", &join::PartPrices::keys_receive_ns},
                             {"reading_ns", &join::PartPrices::reading_ns},
                             {"compression_ns", &join::PartPrices::compression_ns},
                             {"symbols_send_ns", &join::PartPrices::symbols_send_ns},
                             {"symbols_receive_ns", &join::PartPrices::symbols_receive_ns},
                             {"symbols_difference_ns", &join::PartPrices::symbols_difference_ns},
                             {"sketch_send_ns", &join::PartPrices::sketch_send_ns},
                             {"sketch_receive_ns", &join::PartPrices::sketch_receive_ns},
                             {"sketch_difference_ns", &join::PartPrices::sketch_difference_ns},
                             {"scan_ns", &join::PartPrices::scan_ns}};

join::PartPrices Measured(double keys, uint64_t rounds, FigureRun* run) {
  constexpr double kFastLink = 10;  // bits_per_cpu_ns
  Trial filters{Strategy::kPingPong, 0}, list{Strategy::kList, 0.5}, dense{Strategy::kKeys, 0.5},
      quick{Strategy::kKeys, 0.5, kFastLink};
  std::vector<Trial> symbols, sketches;
  for (const double common : {0.98, 0.99, 0.995, 0.999}) {
    symbols.push_back({Strategy::kSymbols, common});
  }
  for (const double common : {0.5, 0.7, 0.8, 0.9, 0.95, 0.98}) {
    sketches.push_back({Strategy::kSketch, common});
  }
  std::vector<Trial*> trials = {&filters, &list, &dense, &quick};
  for (Trial& trial : symbols) trials.push_back(&trial);
  for (Trial& trial : sketches) trials.push_back(&trial);
  PriceRun price_run(static_cast<uint64_t>(keys));
  for (uint64_t round = 1; round <= rounds; round++) {
    run->Begin("prices, round " + std::to_string(round));
    for (Trial* trial : trials) price_run.Run(trial);
  }

  join::PartPrices prices{};
  prices.filter_build_ns = filters.Sum("build") / filters.filtered;
  prices.filter_query_ns = filters.Sum("query") / filters.queried;
  prices.scan_ns = list.Sum("scan") / (2 * keys);
  prices.list_send_ns = list.Sum("sender") / keys;
  prices.list_receive_ns = list.Sum("receiver") / keys;
  // The bench's keys are read from memory, without a database: that is in keys_send_ns.
  prices.reading_ns = join::PricesOf(ActiveIsa()).reading_ns;
  prices.keys_send_ns = quick.Sum("sender") / keys;
  prices.keys_receive_ns = quick.Sum("receiver") / keys;
  constexpr double kBytesOfAKey = 16;  // front-coded, they are about as long
  prices.compression_ns =
      (dense.Sum("sender") + dense.Sum("receiver") - quick.Sum("sender") - quick.Sum("receiver")) /
      (keys * kBytesOfAKey);
  Equations symbols_sender, symbols_receiver, sketch_sender, sketch_receiver;
  for (const Trial& trial : symbols) {
    const double differences = 2 * keys * (1 - trial.common);
    const double keys_times_log = keys * std::log(join::SymbolsFor(differences));
    symbols_sender.Add(keys_times_log, 0, trial.Sum("sender"));
    symbols_receiver.Add(keys_times_log, differences, trial.Sum("receiver"));
  }
  prices.symbols_send_ns = symbols_sender.OnlyFirst();
  std::tie(prices.symbols_receive_ns, prices.symbols_difference_ns) = symbols_receiver.Solution();
  for (const Trial& trial : sketches) {
    const join::RangeEstimate estimate = {keys, keys, trial.common * keys, 0};
    const double differences = join::SketchedDifferences(estimate.differences(), 0);
    // Symbols end it, of what it leaves with 2^5 cells per key: a small part.
    join::CostWeights weights;
    weights.prices = prices;
    weights.prices.sketch_send_ns = weights.prices.sketch_receive_ns = 0;
    weights.prices.sketch_difference_ns = 0;
    const join::Cost ending = join::SketchCost(estimate, 5, weights).value_or(join::Cost());
    sketch_sender.Add(keys, 0, trial.Sum("sender") - ending.own_ns);
    sketch_receiver.Add(keys, differences, trial.Sum("receiver") - ending.other_ns);
  }
  prices.sketch_send_ns = sketch_sender.OnlyFirst();
  std::tie(prices.sketch_receive_ns, prices.sketch_difference_ns) = sketch_receiver.Solution();
  return prices;
}

}  // namespace

int PrintPrices(FigureRun* run) {
  const PagePool::User user;    // as sessions are
  constexpr double kOff = 1.3;  // beyond what a busy machine and another processor do
  const join::PartPrices& had = join::PricesOf(ActiveIsa());
  const join::PartPrices now =
      Measured(static_cast<double>(run->settings.keys), run->settings.seeds, run);
  std::cout << "// " << IsaName(ActiveIsa()) << ", ranges of " << Thousands(run->settings.keys)
            << " keys\n";
  std::string off;
  for (const Price& price : kPrices) {
    const double ns = now.*price.field, ratio = ns / (had.*price.field);
    std::cout << (&price == kPrices ? "{." : " .") << price.name << " = " << Significant(ns, 3)
              << (&price + 1 == std::end(kPrices) ? "}" : ",") << "  // has "
              << Significant(had.*price.field, 3) << ", ratio " << Significant(ratio, 3) << "\n";
    if (ratio > kOff || ratio < 1 / kOff) off += std::string(off.empty() ? "" : ", ") + price.name;
  }
  if (off.empty()) {
    std::cout << "No price is off by more than 30 %.\n";
  } else {
    std::cout << "Off by more than 30 %, or this machine is another: " << off << "\n";
  }
  return off.empty() ? 0 : 1;
}

}  // namespace rocksieve::bench
