// What a join puts on the wire, beside shipping the keys, a textbook Bloom join, and rateless
// reconciliation alone; every run compared with what sets say.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "join/answering_side.h"
#include "join/asking_side.h"
#include "join/key_list.h"
#include "join/memory_source.h"

namespace rocksieve::join {
namespace {

using Rows_ = MemorySource::Rows;

struct Sides {
  Rows_ asking, answering;
  uint64_t common = 0;
};

Sides RandomSides(uint64_t asking, uint64_t answering, double overlap, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto key = [&random] {
    std::string bytes(16, '\0');
    for (int i = 0; i < 16; i += 8) {
      const uint64_t word = random();
      std::copy_n(reinterpret_cast<const char*>(&word), 8, bytes.begin() + i);
    }
    return bytes;
  };
  Sides sides;
  sides.common = static_cast<uint64_t>(
      std::llround(overlap * static_cast<double>(std::min(asking, answering))));
  for (uint64_t i = 0; i < sides.common; i++) {
    sides.asking.emplace_back(key(), "");
    sides.answering.emplace_back(sides.asking.back().first, "");
  }
  while (sides.asking.size() < asking) sides.asking.emplace_back(key(), "");
  while (sides.answering.size() < answering) sides.answering.emplace_back(key(), "");
  return sides;
}

class Ignore final : public Sink {
 public:
  absl::Status Add(const Row&, Side) override { return absl::OkStatus(); }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::OkStatus(); }
};

struct Outcome {
  uint64_t bytes = 0;
  uint64_t round_trips = 0;  // of the whole join: hello and the opening of ranges included
  double seconds = 0;
  Statistics statistics;
};

struct Settings {
  uint64_t keys_per_range = AskingOptions().keys_per_range;
  PlannerOptions planner;
};

Outcome Run(MemorySource* asking, MemorySource* answering, uint64_t seed,
            const Settings& settings) {
  Ignore sink;
  AskingOptions asking_options;
  asking_options.operation = Operation::kCount;
  asking_options.salt = seed * 0x9e3779b97f4a7c15;
  asking_options.keys_per_range = settings.keys_per_range;
  asking_options.planner = settings.planner;
  AnsweringOptions answering_options;
  answering_options.most_keys_per_range = 2 * settings.keys_per_range;
  answering_options.planner = settings.planner;
  const auto begin = std::chrono::steady_clock::now();
  AskingSide asks(asking, &sink, asking_options);
  AnsweringSide answers(answering, answering_options);
  Session* const sides[2] = {&asks, &answers};
  Outcome outcome;
  for (bool any = true; any;) {
    any = false;
    for (int from : {0, 1}) {
      bool answered = false;
      for (;;) {
        absl::StatusOr<std::string> message = sides[from]->Next();
        absl::Status status = message.status();
        if (status.ok() && message->empty()) break;
        if (status.ok()) status = sides[1 - from]->Receive(*message);
        if (!status.ok()) {
          std::fprintf(stderr, "join: %s\n", status.ToString().c_str());
          std::exit(1);
        }
        outcome.bytes += message->size();
        any = answered = true;
      }
      if (from == 1 && answered) outcome.round_trips++;
    }
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  outcome.statistics = asks.statistics();
  return outcome;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double Worst(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

// Front-coded and compressed, as the move "keys" ships them.
double ShippedBits(const Rows_& rows) {
  KeyListWriter writer;
  std::vector<std::string> keys;
  for (const auto& [key, value] : rows) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) writer.Add(key);
  std::string bytes;
  writer.Finish(&bytes);
  return 8.0 * static_cast<double>(bytes.size());
}

int Main(int argc, char** argv) {
  uint64_t asking = 1000000, answering = 0, seeds = 20;
  uint64_t keys_per_range = AskingOptions().keys_per_range;
  std::vector<double> overlaps = {0, 10, 50, 90, 98, 99.9};
  std::string json_path;
  PlannerOptions planner;
  std::string strategy = "auto";
  CLI::App app("What a join puts on the wire: bits per key of the smaller side, rows apart.");
  app.add_option("--keys", asking, "of the asking side (1000000)");
  app.add_option("--remote-keys", answering, "of the answering side (as many)");
  app.add_option("--overlaps", overlaps, "percent of the smaller side")->delimiter(',');
  app.add_option("--seeds", seeds,
                 "runs of each, of which the median and the worst are shown (20)");
  app.add_option("--range", keys_per_range, "keys per range (1048576)");
  app.add_option("--round-trips", planner.most_round_trips,
                 "at most per range, beside its opening (4)");
  app.add_option("--strategy", strategy, StrategyNames() + " (auto)");
  app.add_option("--json", json_path, "a file for all figures");
  CLI11_PARSE(app, argc, argv);
  if (answering == 0) answering = asking;
  if (!StrategyNamed(strategy)) {
    std::fprintf(stderr, "join: there is no strategy %s: %s\n", strategy.c_str(),
                 StrategyNames().c_str());
    return 2;
  }
  planner.strategy = *StrategyNamed(strategy);
  const auto smaller = static_cast<double>(std::min(asking, answering));
  nlohmann::json rows = nlohmann::json::array();

  std::printf(
      "%llu x %llu random keys of 16 bytes, ranges of %llu, %llu seeds. Bits per key of the "
      "smaller side.\n\n",
      static_cast<unsigned long long>(asking), static_cast<unsigned long long>(answering),
      static_cast<unsigned long long>(keys_per_range), static_cast<unsigned long long>(seeds));
  std::printf(
      "overlap  rocksieve          round trips: most  in all  bytes per   keys  Bloom join  "
      "rateless  "
      "seconds\n"
      "      %%     median   worst   of a range (worst) (worst)  difference  alone     10 bits     "
      "alone\n");
  for (double overlap : overlaps) {
    std::vector<double> bits, trips, range_trips, seconds;
    double rateless_bits = 0, shipped_bits = 0;
    Sides sides;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
      sides = RandomSides(asking, answering, overlap / 100, seed);
      MemorySource here(sides.asking), there(sides.answering);
      Settings settings;
      settings.keys_per_range = keys_per_range;
      settings.planner = planner;
      const Outcome outcome = Run(&here, &there, seed, settings);
      if (outcome.statistics.matched_keys != sides.common) {
        std::fprintf(stderr, "join: wrong result, seed %llu\n",
                     static_cast<unsigned long long>(seed));
        return 1;
      }
      bits.push_back(8.0 * static_cast<double>(outcome.bytes) / smaller);
      trips.push_back(static_cast<double>(outcome.round_trips));
      range_trips.push_back(static_cast<double>(outcome.statistics.most_range_round_trips));
      seconds.push_back(outcome.seconds);
      if (seed != 1) continue;
      settings.planner.strategy = Strategy::kSymbols;
      rateless_bits = 8.0 * static_cast<double>(Run(&here, &there, seed, settings).bytes) / smaller;
      shipped_bits = ShippedBits(sides.asking.size() < sides.answering.size() ? sides.asking
                                                                              : sides.answering) /
                     smaller;
    }
    const double differences =
        static_cast<double>(asking + answering) - 2 * static_cast<double>(sides.common);
    // The asking side's filter, and the other side's keys that pass it, shipped.
    const double other = static_cast<double>(answering);
    const double passing =
        static_cast<double>(sides.common) + 0.0097 * (other - static_cast<double>(sides.common));
    const double bloom_bits = (10 * static_cast<double>(asking) + passing * shipped_bits) / smaller;
    const double median = Median(bits), worst = Worst(bits);
    const double bytes_per_difference = differences == 0 ? 0 : median * smaller / 8 / differences;
    std::printf(
        "%7g  %9.3f %7.3f  %9.0f (%.0f)  %8.0f (%.0f)  %10.2f  %5.1f  %10.1f  %8.2f  %7.2f\n",
        overlap, median, worst, Median(range_trips), Worst(range_trips), Median(trips),
        Worst(trips), bytes_per_difference, shipped_bits, bloom_bits, rateless_bits,
        Median(seconds));
    std::fflush(stdout);
    rows.push_back({{"overlap_percent", overlap},
                    {"asking_keys", asking},
                    {"answering_keys", answering},
                    {"seeds", seeds},
                    {"median_bits_per_key", median},
                    {"worst_bits_per_key", worst},
                    {"median_round_trips", Median(trips)},
                    {"worst_round_trips", Worst(trips)},
                    {"median_range_round_trips", Median(range_trips)},
                    {"worst_range_round_trips", Worst(range_trips)},
                    {"bytes_per_difference", bytes_per_difference},
                    {"shipped_keys_bits_per_key", shipped_bits},
                    {"bloom_join_bits_per_key", bloom_bits},
                    {"rateless_bits_per_key", rateless_bits},
                    {"median_seconds", Median(seconds)}});
  }
  if (!json_path.empty()) {
    std::ofstream file(json_path);
    if (!(file << rows.dump(2) << "\n").flush()) {
      std::fprintf(stderr, "join: cannot write %s\n", json_path.c_str());
      return 2;
    }
  }
  return 0;
}

}  // namespace
}  // namespace rocksieve::join

int main(int argc, char** argv) { return rocksieve::join::Main(argc, argv); }
