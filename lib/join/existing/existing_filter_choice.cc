// SPDX-License-Identifier: Apache-2.0
#include "lib/join/existing/existing_filter_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rocksieve::join {
namespace {

// What may be paid for a first byte that no scan is waited for: its weight in bits is what a link
// of 20 Mbit/s carries in the meantime, but never more than this, since bytes are what a join is
// about.
constexpr double kLinkBitsPerSecond = 20e6;
constexpr double kScannedKeysPerSecond = 2e6;
constexpr double kMostBitsForTime = 8 * 10'000;
constexpr double kMostTimesAsDear = 1.05;
constexpr double kUselessPassRate = 0.5;
constexpr double kOverlaps[] = {0.9, 0.05, 0.5};

double BitsToReconcile(double mine, double theirs, double common, PlannerOptions options) {
  options.strategy = Strategy::kAuto;
  const TurnLimit limit{/*is_client=*/true, TurnsOf(options.most_round_trips, true)};
  return CheapestStep({mine, theirs, common, /*common_error=*/0}, limit, /*begun=*/{}, options)
      .bits();
}

double BitsWith(const ExistingFilterSide& sender, const ExistingFilterSide& receiver, double common,
                const PlannerOptions& options) {
  const double passed = std::max(1.0, common + sender.offer.pass_rate * (receiver.keys - common));
  // The side with fewer candidates begins.
  const auto [fewer, more] = std::minmax(passed, sender.keys);
  return 8 * static_cast<double>(sender.offer.bytes) +
         BitsToReconcile(fewer, more, common, options);
}

double BitsWithout(const ExistingFilterSide& client, const ExistingFilterSide& server,
                   double common, const PlannerOptions& options) {
  const auto [fewer, more] = std::minmax(client.keys, server.keys);
  return BitsToReconcile(fewer, more, common, options);
}

// Whether they are expected to take hardly more bytes than without, whatever the overlap. Overlaps
// at which the least is needed without come first, since pricing takes its time.
bool Pays(const ExistingFilterSide& sender, const ExistingFilterSide& receiver,
          const PlannerOptions& options) {
  const double fewer = std::min(sender.keys, receiver.keys);
  const double more = std::max(sender.keys, receiver.keys);
  if (fewer < 1 || sender.offer.pass_rate >= kUselessPassRate) return false;
  const double for_time =
      std::min(kMostBitsForTime, kLinkBitsPerSecond * more / kScannedKeysPerSecond);
  return std::all_of(std::begin(kOverlaps), std::end(kOverlaps), [&](double overlap) {
    const double common = overlap * fewer;
    return BitsWith(sender, receiver, common, options) <=
           kMostTimesAsDear * BitsWithout(sender, receiver, common, options) + for_time;
  });
}

bool Usable(const ExistingFilterSide& sender, const ExistingFilterSide& receiver) {
  return sender.offer.exists() && sender.offer.bytes <= receiver.accepted_bytes &&
         (sender.offer.formats & ~receiver.readable_formats) == 0;
}

}  // namespace

std::string_view Describe(ExistingFilterChoice choice) {
  switch (choice) {
    case ExistingFilterChoice::kNotThere:
      return "not used: neither side has filters of whole keys in SST files";
    case ExistingFilterChoice::kServer:
      return "used: the server's";
    case ExistingFilterChoice::kClient:
      return "used: the client's";
    case ExistingFilterChoice::kTooDear:
      return "not used: new filters are expected to take fewer bytes";
    case ExistingFilterChoice::kUnusable:
      return "not used: too large for the other side, or of a format that it does not read";
    case ExistingFilterChoice::kNotWanted:
      return "not used: another strategy is forced, or sessions with several servers share a scan";
  }
  return "unknown";
}

ExistingFilterChoice ChooseExistingFilters(const ExistingFilterSide& client,
                                           const ExistingFilterSide& server,
                                           const PlannerOptions& options) {
  const bool always = options.strategy == Strategy::kSstFilters;
  if (!WantsExistingFilters(options.strategy)) return ExistingFilterChoice::kNotWanted;
  if (!client.offer.exists() && !server.offer.exists()) return ExistingFilterChoice::kNotThere;
  const bool client_usable = Usable(client, server), server_usable = Usable(server, client);
  if (!client_usable && !server_usable) return ExistingFilterChoice::kUnusable;
  // The smaller ones, which drop more keys of the other side as well.
  const bool from_client =
      client_usable && (!server_usable || client.offer.bytes <= server.offer.bytes);
  const bool use =
      always || (from_client ? Pays(client, server, options) : Pays(server, client, options));
  if (!use) return ExistingFilterChoice::kTooDear;
  return from_client ? ExistingFilterChoice::kClient : ExistingFilterChoice::kServer;
}

// The rate is an estimate, and may be wrong by so much of it.
CommonKeys CommonAfterExistingFilters(double before, double passed, double pass_rate) {
  constexpr double kRateError = 0.3;
  if (pass_rate >= kUselessPassRate) return {passed / 2, passed / 4};
  return {std::clamp((passed - before * pass_rate) / (1 - pass_rate), 0.0, passed),
          std::min(passed / 2, kRateError * pass_rate * before + std::sqrt(passed))};
}

}  // namespace rocksieve::join
