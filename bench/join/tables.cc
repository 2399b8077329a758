// SPDX-License-Identifier: Apache-2.0
// The tables of `./run bench join`, by what varies in them.
#include <utility>
#include <vector>

#include "bench/join/sessions.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

}  // namespace

// Bits per key against how much two sides of the same size have in common.
Table MeasureOverlaps(FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  Table table = {
      .name = "overlaps",
      .title = "OVERLAPS",
      .explanation =
          "Two sides of " + Thousands(keys) +
          " random keys of 16 bytes each, in one range. Bits on the wire, both ways, per key of "
          "one side: planning, filters, sketches, checksums and frames, without rows. Median and "
          "worst of " +
          std::to_string(run->settings.seeds) +
          " runs, with a range reconciled in at most two or four round trips, or as many as pay; "
          "their number, with those that open session and range. Beside them, on the keys of one "
          "run: the keys shipped (front-coded, zstd), a Bloom join (10 bits per key, 7 probes, and "
          "the keys that pass), and rateless reconciliation alone (RIBLT).",
      .columns = {kOverlap,
                  {"two_median_bits_per_key", "2 round", "trips", Kind::kSignificant, 3},
                  {"two_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                  {"two_median_round_trips", "round", "trips", Kind::kFixed, 0},
                  {"four_median_bits_per_key", "4 round", "trips", Kind::kSignificant, 3},
                  {"four_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                  {"four_median_round_trips", "round", "trips", Kind::kFixed, 0},
                  {"any_median_bits_per_key", "any", "number", Kind::kSignificant, 3},
                  {"any_worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                  {"any_median_round_trips", "round", "trips", Kind::kFixed, 0},
                  {"shipped_bits_per_key", "keys", "shipped", Kind::kSignificant, 3},
                  {"bloom_join_bits_per_key", "Bloom", "join", Kind::kSignificant, 3},
                  {"rateless_bits_per_key", "", "RIBLT", Kind::kSignificant, 3}}};
  for (const double percent : run->settings.overlap_percents) {
    Circumstances circumstances = Alike(keys, percent);
    circumstances.session.keys_per_range = keys;
    nlohmann::json row = {{"overlap_percent", percent}, {"keys_per_side", keys}};
    const auto per_key = [keys](double bytes) { return 8 * bytes / static_cast<double>(keys); };
    for (const auto& [round_trips, name] :
         {std::pair<int, std::string>{2, "two"}, {4, "four"}, {16, "any"}}) {
      circumstances.session.most_round_trips = round_trips;
      const Runs runs = MeasureRuns(circumstances, run);
      row[name + "_median_bits_per_key"] = per_key(runs.median_bytes);
      row[name + "_worst_bits_per_key"] = per_key(runs.worst_bytes);
      row[name + "_median_round_trips"] = runs.median_round_trips;
      row[name + "_median_cpu_seconds"] = runs.median_cpu_seconds;
    }
    run->Begin("other ways, " + Thousands(circumstances.common) + " common");
    const KeySets sets = RandomKeySets(keys, keys, circumstances.common, 1);
    row["shipped_bits_per_key"] = per_key(static_cast<double>(ShippedBytes(sets.client)));
    row["bloom_join_bits_per_key"] = per_key(static_cast<double>(BloomJoinBytes(sets)));
    SessionSettings rateless;
    rateless.keys_per_range = keys;
    rateless.strategy = join::Strategy::kSymbols;
    const SessionOutcome outcome = RunSession(sets, sets.Common(), rateless);
    if (!outcome.error.empty()) run->Fail("RIBLT: " + outcome.error);
    row["rateless_bits_per_key"] = per_key(static_cast<double>(outcome.bytes));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bytes per difference between replicas.
Table MeasureDifferences(FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  Table table = {
      .name = "differences",
      .title = "DIFFERENCES",
      .explanation = "Replicas of " + Thousands(keys) +
                     " random keys of 16 bytes, half of the differences on either side. Bytes on "
                     "the wire per difference, as above; beside them rateless reconciliation "
                     "alone (RIBLT).",
      .columns = {{"differences", "", "differences", Kind::kFixed, 0},
                  {"median_bytes_per_difference", "bytes per", "difference", Kind::kSignificant, 3},
                  {"worst_bytes_per_difference", "", "worst", Kind::kSignificant, 3},
                  {"median_round_trips", "round", "trips", Kind::kFixed, 0},
                  {"rateless_bytes_per_difference", "", "RIBLT", Kind::kSignificant, 3},
                  {"rateless_round_trips", "round", "trips", Kind::kFixed, 0}}};
  for (uint64_t differences = 100; differences <= keys / 10; differences *= 10) {
    Circumstances circumstances = Alike(keys, 100);
    circumstances.common = keys - differences / 2;
    circumstances.session.keys_per_range = keys;
    const Runs runs = MeasureRuns(circumstances, run);
    circumstances.session.strategy = join::Strategy::kSymbols;
    const Runs rateless = MeasureRuns(circumstances, run);
    const auto each = static_cast<double>(differences);
    table.rows.push_back({{"differences", differences},
                          {"keys_per_side", keys},
                          {"median_bytes_per_difference", runs.median_bytes / each},
                          {"worst_bytes_per_difference", runs.worst_bytes / each},
                          {"median_round_trips", runs.median_round_trips},
                          {"rateless_bytes_per_difference", rateless.median_bytes / each},
                          {"rateless_round_trips", rateless.median_round_trips}});
  }
  return table;
}

// A few keys against many.
Table MeasureUnevenSides(FigureRun* run) {
  Table table = {.name = "uneven",
                 .title = "UNEVEN SIDES",
                 .explanation =
                     "A few keys against many, on whichever side they are. Bits on the wire per "
                     "key of the small side, as above, with the default ranges.",
                 .columns = {{"asking_keys", "client", "keys", Kind::kFixed, 0},
                             {"answering_keys", "server", "keys", Kind::kFixed, 0},
                             {"matching_percent", "matching,", "% of few", Kind::kSignificant, 2},
                             {"median_bits_per_key", "", "bits", Kind::kSignificant, 3},
                             {"worst_bits_per_key", "", "worst", Kind::kSignificant, 3},
                             {"median_round_trips", "round", "trips", Kind::kFixed, 0},
                             {"shipped_bits_per_key", "few keys", "shipped", Kind::kSignificant, 3},
                             {"bloom_join_bits_per_key", "Bloom", "join", Kind::kSignificant, 3}}};
  struct Shape {
    uint64_t many, few;
    double matching;  // share of the few
  };
  std::vector<Shape> shapes = {{2'000'000, 10'000, .5}, {2'000'000, 10'000, .01}};
  if (run->settings.quick) shapes = {{100'000, 1'000, .5}};
  if (run->settings.full) shapes.push_back({20'000'000, 100'000, .5});
  for (const Shape& shape : shapes) {
    const auto per_key = [&](double bytes) { return 8 * bytes / static_cast<double>(shape.few); };
    Circumstances circumstances = Alike(shape.few, 100 * shape.matching);
    const KeySets sets = RandomKeySets(shape.few, shape.many, circumstances.common, 1);
    const double shipped = per_key(static_cast<double>(ShippedBytes(sets.client)));
    const double bloom_join = per_key(static_cast<double>(BloomJoinBytes(sets)));
    for (const bool client_is_small : {true, false}) {
      circumstances.client = client_is_small ? shape.few : shape.many;
      circumstances.server = client_is_small ? shape.many : shape.few;
      const Runs runs = MeasureRuns(circumstances, run);
      table.rows.push_back({{"asking_keys", circumstances.client},
                            {"answering_keys", circumstances.server},
                            {"matching_percent", 100 * shape.matching},
                            {"median_bits_per_key", per_key(runs.median_bytes)},
                            {"worst_bits_per_key", per_key(runs.worst_bytes)},
                            {"median_round_trips", runs.median_round_trips},
                            {"shipped_bits_per_key", shipped},
                            {"bloom_join_bits_per_key", bloom_join}});
    }
  }
  return table;
}

// Bytes and time against size.
Table MeasureSizes(FigureRun* run) {
  Table table = {
      .name = "sizes",
      .title = "SIZES",
      .explanation =
          "Two sides of the same size with half of their keys in common, in ranges of at most " +
          Thousands(SessionSettings().keys_per_range) +
          " keys, as by default. CPU time is that of both sides together, without reading a "
          "database.",
      .columns = {{"keys_per_side", "keys per", "side", Kind::kFixed, 0},
                  {"median_bytes", "", "bytes", Kind::kFixed, 0},
                  {"median_bits_per_key", "bits per", "key", Kind::kSignificant, 3},
                  {"median_round_trips", "round", "trips", Kind::kFixed, 0},
                  {"median_cpu_seconds", "CPU", "seconds", Kind::kSignificant, 3},
                  {"cpu_ns_per_key", "ns per", "key", Kind::kFixed, 0}}};
  std::vector<uint64_t> sizes = {10'000, 100'000};
  if (!run->settings.quick) sizes.push_back(1'000'000);
  if (run->settings.full) sizes.insert(sizes.end(), {5'000'000, 20'000'000});
  for (const uint64_t keys : sizes) {
    const Runs runs = MeasureRuns(Alike(keys, 50), run);
    const auto each = static_cast<double>(keys);
    table.rows.push_back({{"keys_per_side", keys},
                          {"median_bytes", runs.median_bytes},
                          {"median_bits_per_key", 8 * runs.median_bytes / each},
                          {"median_round_trips", runs.median_round_trips},
                          {"median_cpu_seconds", runs.median_cpu_seconds},
                          {"cpu_ns_per_key", 1e9 * runs.median_cpu_seconds / each}});
  }
  return table;
}

// What more threads are worth.
Table MeasureThreads(FigureRun* run) {
  constexpr uint64_t kRanges = 8;
  const uint64_t keys = run->settings.keys;
  Table table = {
      .name = "threads",
      .title = "THREADS",
      .explanation =
          "Two sides of " + Thousands(keys) + " keys in " + Thousands(kRanges) +
          " ranges. Time per key of one side until the client knows which of its keys are matched, "
          "with as many cores as threads on each side, and twice as many ranges under way: "
          "computed from the CPU times of all that both sides do, each by one core, without the "
          "time that a link takes.",
      .columns = {kOverlap,
                  {"cpu_ns_per_key", "CPU of", "both, ns", Kind::kFixed, 0},
                  {"one_thread_ns", "1 thread", "a side, ns", Kind::kFixed, 0},
                  {"two_threads_ns", "", "2", Kind::kFixed, 0},
                  {"three_threads_ns", "", "3", Kind::kFixed, 0},
                  {"two_to_one", "2 : 1", "", Kind::kSignificant, 2},
                  {"three_to_one", "3 : 1", "", Kind::kSignificant, 2}}};
  for (const double percent : {0., 50., 90., 98.}) {
    Circumstances circumstances = Alike(keys, percent);
    circumstances.session.keys_per_range = keys / kRanges;
    std::vector<double> ns;
    double cpu_ns = 0;
    for (int threads = 1; threads <= 3; threads++) {
      circumstances.session.cores = threads;
      circumstances.session.ranges_ahead = 2 * static_cast<size_t>(threads);
      const Runs runs = MeasureRuns(circumstances, run);
      ns.push_back(1e9 * runs.median_link_seconds / static_cast<double>(keys));
      if (threads == 1) cpu_ns = 1e9 * runs.median_cpu_seconds / static_cast<double>(keys);
    }
    table.rows.push_back({{"overlap_percent", percent},
                          {"keys_per_side", keys},
                          {"cpu_ns_per_key", cpu_ns},
                          {"one_thread_ns", ns[0]},
                          {"two_threads_ns", ns[1]},
                          {"three_threads_ns", ns[2]},
                          {"two_to_one", ns[1] / ns[0]},
                          {"three_to_one", ns[2] / ns[0]}});
  }
  return table;
}

// Time over a slow link.
Table MeasureLink(FigureRun* run) {
  const Link link = {.round_trip_seconds = .05, .bits_per_second = 20e6};
  const uint64_t keys = run->settings.keys;
  Table table = {
      .name = "link",
      .title = "LINK",
      .explanation =
          "Two sides of " + Thousands(keys) +
          " keys over a link of 50 ms round trip and 20 Mbit/s each way, with the default ranges. "
          "Seconds until the client knows which of its keys are matched, on a simulated link: CPU "
          "time as measured here, transfer and delay as computed. Shipping: a request, then all "
          "keys, front-coded and compressed, as fast as the link takes them, without any CPU time.",
      .columns = {kOverlap,
                  {"median_seconds", "", "seconds", Kind::kSignificant, 3},
                  {"median_cpu_seconds", "of CPU,", "both sides", Kind::kSignificant, 3},
                  {"median_bytes", "", "bytes", Kind::kFixed, 0},
                  {"shipping_seconds", "shipping,", "seconds", Kind::kSignificant, 3},
                  {"shipped_bytes", "shipping,", "bytes", Kind::kFixed, 0},
                  {"times_faster", "times", "faster", Kind::kSignificant, 3}}};
  for (const double percent : {0., 50., 98., 99.9}) {
    Circumstances circumstances = Alike(keys, percent);
    circumstances.session.link = link;
    const Runs runs = MeasureRuns(circumstances, run);
    const KeySets sets = RandomKeySets(keys, keys, circumstances.common, 1);
    const auto shipped = static_cast<double>(ShippedBytes(sets.server));
    const double shipping_seconds = link.round_trip_seconds + link.SecondsFor(shipped);
    table.rows.push_back({{"overlap_percent", percent},
                          {"keys_per_side", keys},
                          {"median_seconds", runs.median_link_seconds},
                          {"median_cpu_seconds", runs.median_cpu_seconds},
                          {"median_bytes", runs.median_bytes},
                          {"shipping_seconds", shipping_seconds},
                          {"shipped_bytes", shipped},
                          {"times_faster", shipping_seconds / runs.median_link_seconds}});
  }
  return table;
}

}  // namespace rocksieve::bench
