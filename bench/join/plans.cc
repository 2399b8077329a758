// SPDX-License-Identifier: Apache-2.0
// Whether plans are as good as the best fixed strategy: in bytes, where many keys are in common and
// filters before a sketch begin to cost more than they save (`./run bench join --only=plans`); and
// in time, for links (`--only=grid`).
#include <cmath>
#include <string>
#include <vector>

#include "bench/join/sessions.h"
#include "lib/hash/mix.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

constexpr double kMegabits[] = {10, 100, 1000, 10'000};
constexpr double kOverlaps[] = {0, 50, 90, 98, 99.9};
constexpr uint64_t kRanges = 8;
constexpr join::Strategy kAllFixed[] = {join::Strategy::kKeys,   join::Strategy::kList,
                                        join::Strategy::kRibbon, join::Strategy::kPingPong,
                                        join::Strategy::kSketch, join::Strategy::kSymbols};

// Far from the best, and slow: not tried.
bool IsHopeless(join::Strategy strategy, double overlap_percent) {
  return (strategy == join::Strategy::kSymbols && overlap_percent < 90) ||
         (strategy == join::Strategy::kSketch && overlap_percent < 20);
}

std::string RateName(double megabits) {
  return megabits < 1000 ? Thousands(static_cast<uint64_t>(megabits)) + " Mbit/s"
                         : Thousands(static_cast<uint64_t>(megabits / 1000)) + " Gbit/s";
}

// All cells of an overlap. They have the same keys, so that acts that come again and again are
// timed as often.
class Overlap {
 public:
  Overlap(double percent, FigureRun* run)
      : percent_(percent),
        keys_(static_cast<double>(run->settings.keys)),
        sets_(RandomKeySets(run->settings.keys, run->settings.keys,
                            static_cast<uint64_t>(std::llround(percent / 100 * keys_)), 1)),
        common_(sets_.Common()),
        run_(run) {}

  nlohmann::json MeasureCell(double megabits, int threads) {
    constexpr size_t kFewest = 0, kPlanned = 1, kFirstFixed = 2;
    constexpr double kFar = 1.5;  // from the best: not run again
    std::vector<SessionSettings> ways = Ways(megabits, threads);
    std::vector<SessionOutcome> outcomes(ways.size());
    size_t best = kFirstFixed, shipped = kFirstFixed;
    // Not timed: what each way does.
    for (SessionSettings& way : ways) way.plan = PlanOf(way);
    for (uint64_t round = 0; round < run_->settings.seeds; round++) {
      times_.Begin(static_cast<int>(round % 2), /*alone=*/false);
      const double least = outcomes[best].link_seconds;
      for (size_t way = 0; way < ways.size(); way++) {
        if (round > 0 && outcomes[way].link_seconds > kFar * least) continue;
        outcomes[way] = Run(ways[way]);
      }
      best = kFirstFixed;
      for (size_t way = kFirstFixed; way < ways.size(); way++) {
        if (outcomes[way].link_seconds < outcomes[best].link_seconds) best = way;
        if (ways[way].strategy == join::Strategy::kKeys) shipped = way;
      }
    }
    // What was timed since then counts for both.
    const SessionOutcome planned = Run(ways[kPlanned]), fixed = Run(ways[best]);
    double halves[2];
    for (const int half : {0, 1}) {
      times_.Begin(half, /*alone=*/true);
      halves[half] = Run(ways[best]).link_seconds;
    }
    const auto ns = [this](const SessionOutcome& outcome) {
      return 1e9 * outcome.link_seconds / keys_;
    };
    return {{"overlap_percent", percent_},
            {"link", RateName(megabits)},
            {"megabits_per_second", megabits},
            {"threads", threads},
            {"rounds", run_->settings.seeds},
            {"planned_ns", ns(planned)},
            {"planned_bits_per_key", 8 * static_cast<double>(planned.bytes) / keys_},
            {"fewest_bytes_ns", ns(outcomes[kFewest])},
            {"keys_ns", ns(outcomes[shipped])},
            {"best_ns", ns(fixed)},
            {"best", NameOf(ways[best].strategy)},
            {"ratio", planned.link_seconds / fixed.link_seconds},
            {"noise_percent", 100 * std::abs(halves[0] / halves[1] - 1)}};
  }

 private:
  // With bytes alone in mind, as planned, and the fixed strategies.
  std::vector<SessionSettings> Ways(double megabits, int threads) {
    SessionSettings session;
    session.operation = join::Operation::kCount;
    session.keys_per_range = run_->settings.keys / kRanges;
    session.cores = threads;
    session.ranges_ahead = 2 * static_cast<size_t>(threads);
    session.link = {0, 1e6 * megabits};
    session.seed = 1;
    session.least_times = &times_;
    std::vector<SessionSettings> ways = {session};
    session.bits_per_cpu_ns = join::PriceOfLink(1e6 * megabits / 8, threads);
    ways.push_back(session);
    for (const join::Strategy strategy : kAllFixed) {
      session.strategy = strategy;
      if (!IsHopeless(strategy, percent_)) ways.push_back(session);
    }
    return ways;
  }

  // Sessions with as many bytes of each kind and each way do the same.
  uint64_t PlanOf(SessionSettings way) {
    way.least_times = nullptr;
    const join::Statistics statistics = Run(way).statistics;
    uint64_t plan = 0;
    for (const join::WireBytes& traffic : {statistics.sent, statistics.received}) {
      plan = SplitMix64(SplitMix64(plan, traffic.filters), traffic.verification);
    }
    return plan;
  }

  SessionOutcome Run(const SessionSettings& way) {
    run_->Begin("grid, " + Shortest(percent_) + " %, " + Shortest(way.link.bits_per_second / 1e6) +
                " Mbit/s, " + std::string(NameOf(way.strategy)));
    SessionOutcome outcome = RunSession(sets_, common_, way);
    if (!outcome.error.empty()) {
      run_->Fail(Shortest(percent_) + " %, " + std::string(NameOf(way.strategy)) + ": " +
                 outcome.error);
    }
    return outcome;
  }

  const double percent_, keys_;
  const KeySets sets_;
  const Keys common_;
  FigureRun* const run_;
  LeastTimes times_;
};

}  // namespace

Table MeasureBytePlans(FigureRun* run) {
  constexpr join::Strategy kFixed[] = {join::Strategy::kPingPong, join::Strategy::kSketch,
                                       join::Strategy::kSymbols};
  constexpr double kFewInCommon = 95;  // symbols are not worth trying
  const auto keys = static_cast<double>(run->settings.keys);
  Table table;
  table.name = "plans";
  table.title = "PLANS";
  table.explanation =
      "Two sides of " + Thousands(run->settings.keys) +
      " random keys of 16 bytes each, in one range, with bytes alone in mind. Bits on the wire, "
      "both ways, per key of one side: as planned, by a sketch at once, and by the best fixed "
      "strategy, which may be that. Medians of " +
      std::to_string(run->settings.seeds) + " runs, which have the same keys in all columns.";
  table.columns = {kOverlap,
                   {"planned_bits_per_key", "", "planned", Kind::kSignificant, 4},
                   {"sketch_bits_per_key", "", "sketch", Kind::kSignificant, 4},
                   {"best_bits_per_key", "best", "fixed", Kind::kSignificant, 4},
                   {"best", "", "which", Kind::kText, 0},
                   {"ratio", "planned", ": best", Kind::kSignificant, 3}};
  std::vector<double> percents = run->settings.overlap_percents;
  if (!run->settings.overlaps_are_given) {
    percents.clear();
    for (int percent = 80; percent <= 99; percent++) percents.push_back(percent);
  }
  for (const double percent : percents) {
    Circumstances circumstances = Alike(run->settings.keys, percent);
    circumstances.session.operation = join::Operation::kCount;
    circumstances.session.keys_per_range = run->settings.keys;
    std::vector<SessionSettings> ways = {circumstances.session};
    for (const join::Strategy strategy : kFixed) {
      if (strategy == join::Strategy::kSymbols && percent < kFewInCommon) continue;
      ways.push_back(circumstances.session);
      ways.back().strategy = strategy;
    }
    const std::vector<Runs> runs = MeasureByTurns(circumstances, ways, run);
    const auto bits = [&](size_t way) { return 8 * runs[way].median_bytes / keys; };
    size_t best = 1;
    nlohmann::json row = {{"overlap_percent", percent}, {"planned_bits_per_key", bits(0)}};
    for (size_t way = 1; way < ways.size(); way++) {
      row[std::string(NameOf(ways[way].strategy)) + "_bits_per_key"] = bits(way);
      if (bits(way) < bits(best)) best = way;
    }
    row["best_bits_per_key"] = bits(best);
    row["best"] = NameOf(ways[best].strategy);
    row["ratio"] = bits(0) / bits(best);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table MeasureLinkGrid(FigureRun* run) {
  Table table;
  table.name = "grid";
  table.title = "GRID";
  table.explanation =
      "Two sides of " + Thousands(run->settings.keys) + " keys in " + Thousands(kRanges) +
      " ranges, over links of several rates, each way, without delay, with one or two threads on "
      "each side. Nanoseconds per key of one side until the client knows which of its keys are "
      "matched: as planned for the link, with bytes alone in mind, by shipping the keys, and by "
      "the best fixed strategy, which may be that. Computed as in THREADS, where "
      "each act takes the least time of all sessions that came to it: " +
      std::to_string(run->settings.seeds) +
      " of each way, over all links. The noise is by how much the best differs from itself between "
      "the times of one half of the sessions and those of the other.";
  table.columns = {kOverlap,
                   {"link", "", "link", Kind::kText, 0},
                   {"threads", "", "threads", Kind::kFixed, 0},
                   {"planned_ns", "planned,", "ns", Kind::kFixed, 0},
                   {"planned_bits_per_key", "", "bits", Kind::kSignificant, 3},
                   {"fewest_bytes_ns", "fewest", "bytes, ns", Kind::kFixed, 0},
                   {"keys_ns", "keys,", "ns", Kind::kFixed, 0},
                   {"best_ns", "best", "fixed, ns", Kind::kFixed, 0},
                   {"best", "", "which", Kind::kText, 0},
                   {"ratio", "planned", ": best", Kind::kFixed, 2},
                   {"noise_percent", "noise,", "%", Kind::kFixed, 1}};
  const std::vector<double> overlaps =
      run->settings.overlaps_are_given
          ? run->settings.overlap_percents
          : std::vector<double>(std::begin(kOverlaps), std::end(kOverlaps));
  for (const double percent : overlaps) {
    Overlap overlap(percent, run);
    for (const double megabits : kMegabits) {
      for (const int threads : {1, 2}) {
        table.rows.push_back(overlap.MeasureCell(megabits, threads));
      }
    }
  }
  return table;
}

}  // namespace rocksieve::bench
