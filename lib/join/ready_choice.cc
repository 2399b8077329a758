#include "join/ready_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rocksieve::join {
namespace {

// What may be paid for a first byte that no scan is waited for: its price in bits is what a link of
// 20 Mbit/s carries in the meantime, but never more than this, since bytes are what a join is
// about.
constexpr double kLinkBitsPerSecond = 20e6;
constexpr double kScannedKeysPerSecond = 2e6;
constexpr double kMostBitsForTime = 8 * 10'000;
constexpr double kMostTimesAsDear = 1.05;
constexpr double kUselessPassRate = 0.5;
constexpr double kOverlaps[] = {0.05, 0.5, 0.9};

double BitsToSettle(double mine, double theirs, double common, bool asks, PlannerOptions options) {
  options.strategy = Strategy::kAuto;
  const TurnLimit limit{asks, TurnsOf(options.most_round_trips, asks)};
  return CheapestMove({mine, theirs, common, /*common_error=*/0}, limit, /*filters=*/0, options)
      .bits;
}

double PriceWith(const ReadySide& sender, const ReadySide& receiver, double common,
                 const PlannerOptions& options) {
  const double passed = std::max(1.0, common + sender.offer.pass_rate * (receiver.keys - common));
  return 8 * static_cast<double>(sender.offer.bytes) +
         std::min(BitsToSettle(sender.keys, passed, common, true, options),
                  BitsToSettle(passed, sender.keys, common, true, options));
}

bool Usable(const ReadySide& sender, const ReadySide& receiver) {
  return sender.offer.exists() && sender.offer.bytes <= receiver.accepted_bytes &&
         (sender.offer.formats & ~receiver.readable_formats) == 0;
}

}  // namespace

std::string_view Describe(ReadyChoice choice) {
  switch (choice) {
    case ReadyChoice::kNotThere:
      return "not used: neither side has filters of whole keys in SST files";
    case ReadyChoice::kAnswering:
      return "used: the answering side's";
    case ReadyChoice::kAsking:
      return "used: the asking side's";
    case ReadyChoice::kTooDear:
      return "not used: new filters are expected to take fewer bytes";
    case ReadyChoice::kUnusable:
      return "not used: too large for the other side, or of a format that it does not read";
    case ReadyChoice::kNotWanted:
      return "not used: another strategy is forced";
  }
  return "unknown";
}

ReadyChoice ChooseReadyFilters(const ReadySide& asking, const ReadySide& answering,
                               const PlannerOptions& options) {
  const bool always = options.strategy == Strategy::kSstFilters;
  if (!WantsReadyFilters(options.strategy)) return ReadyChoice::kNotWanted;
  if (!asking.offer.exists() && !answering.offer.exists()) return ReadyChoice::kNotThere;
  ReadyChoice best = ReadyChoice::kUnusable;
  double best_price = std::numeric_limits<double>::infinity();
  const double smaller = std::min(asking.keys, answering.keys);
  for (const bool from_asking : {false, true}) {
    const ReadySide& sender = from_asking ? asking : answering;
    const ReadySide& receiver = from_asking ? answering : asking;
    if (!Usable(sender, receiver)) continue;
    bool pays = smaller > 0 && sender.offer.pass_rate < kUselessPassRate;
    double price = 0;
    for (const double overlap : kOverlaps) {
      if (smaller < 1) break;  // nothing to price
      const double common = overlap * smaller;
      const double with = PriceWith(sender, receiver, common, options);
      const double for_time =
          std::min(kMostBitsForTime, kLinkBitsPerSecond * std::max(asking.keys, answering.keys) /
                                         kScannedKeysPerSecond);
      const double without = BitsToSettle(smaller, std::max(asking.keys, answering.keys), common,
                                          /*asks=*/true, options);
      pays = pays && with <= kMostTimesAsDear * without + for_time;
      price += with;
    }
    if (!pays && !always) {
      if (best == ReadyChoice::kUnusable) best = ReadyChoice::kTooDear;
      continue;
    }
    if (price < best_price) {
      best_price = price;
      best = from_asking ? ReadyChoice::kAsking : ReadyChoice::kAnswering;
    }
  }
  return best;
}

// The rate is an estimate, and may be wrong by so much of it.
CommonKeys CommonAfterReadyFilters(double before, double passed, double pass_rate) {
  constexpr double kRateError = 0.3;
  if (pass_rate >= kUselessPassRate) return {passed / 2, passed / 4};
  return {std::clamp((passed - before * pass_rate) / (1 - pass_rate), 0.0, passed),
          std::min(passed / 2, kRateError * pass_rate * before + std::sqrt(passed))};
}

}  // namespace rocksieve::join
