// SPDX-License-Identifier: Apache-2.0
// The promise of the planner over a grid of sizes, overlaps and key shapes: never more than 1.10
// times the bytes of the best forced strategy, plus 20 KB, within the same limit on round trips.
// Every run is compared with std::set_intersection. Exits with 1 when the promise is broken, 3 when
// a result is wrong.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/join/matching/planner.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"
#include "tests/join/memory_source.h"

namespace rocksieve::bench {
namespace {

// ------------------------------------------------------------------- Sets of keys of many shapes

enum class KeyShape { kRandom, kDenseIds, kUuids, kPaths };

constexpr KeyShape kAllKeyShapes[] = {KeyShape::kRandom, KeyShape::kDenseIds, KeyShape::kUuids,
                                      KeyShape::kPaths};

// "random", "dense-ids", "uuids", "paths".
std::string_view NameOf(KeyShape shape);

struct GridSets {
  std::vector<std::string> client, server;  // sorted, each key once
  std::vector<std::string> Common() const;  // by std::set_intersection
};

// `common` keys are in both. The same for the same seed.
GridSets MakeGridSets(KeyShape shape, uint64_t client, uint64_t server, uint64_t common,
                      uint64_t seed);

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) bytes[static_cast<size_t>(i)] = char(number & 0xff);
  return bytes;
}

std::string RandomBytes(std::mt19937_64* random) {
  return BigEndian((*random)()) + BigEndian((*random)());
}

std::string Uuid(std::mt19937_64* random) {
  const uint64_t high = (*random)(), low = (*random)();
  char text[40];
  std::snprintf(text, sizeof(text), "%08x-%04x-4%03x-%04x-%012llx",
                static_cast<unsigned>(high >> 32), static_cast<unsigned>(high >> 16 & 0xffff),
                static_cast<unsigned>(high & 0xfff),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffffffffffff));
  return text;
}

// Of a tree with some dozens of files in a directory.
std::string Path(uint64_t number) {
  static constexpr const char* kWords[] = {"index", "main",  "table", "reader", "config", "test",
                                           "build", "merge", "range", "option", "cache",  "write"};
  std::mt19937_64 random(number);
  const uint64_t directory = number / 40;
  return "/srv/data/project" + std::to_string(directory / 300) + "/src/" +
         kWords[directory / 25 % 12] + "/" + kWords[directory % 12] +
         std::to_string(directory % 300) + "/" + kWords[random() % 12] + "_" +
         kWords[random() % 12] + std::to_string(number % 40) + ".cc";
}

// Distinct keys, in an order in which any part of them is like the others.
std::vector<std::string> MakeKeys(KeyShape shape, uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::string> keys;
  keys.reserve(count);
  for (uint64_t i = 0; i < count; i++) {
    switch (shape) {
      case KeyShape::kRandom:
        keys.push_back(RandomBytes(&random));
        break;
      case KeyShape::kDenseIds:
        keys.push_back(BigEndian(1000000 + i));
        break;
      case KeyShape::kUuids:
        keys.push_back(Uuid(&random));
        break;
      case KeyShape::kPaths:
        keys.push_back(Path(i));
        break;
    }
  }
  std::shuffle(keys.begin(), keys.end(), random);
  return keys;
}

std::string_view NameOf(KeyShape shape) {
  switch (shape) {
    case KeyShape::kRandom:
      return "random";
    case KeyShape::kDenseIds:
      return "dense-ids";
    case KeyShape::kUuids:
      return "uuids";
    case KeyShape::kPaths:
      return "paths";
  }
  return "unknown";
}

std::vector<std::string> GridSets::Common() const {
  std::vector<std::string> common;
  std::set_intersection(client.begin(), client.end(), server.begin(), server.end(),
                        std::back_inserter(common));
  return common;
}

GridSets MakeGridSets(KeyShape shape, uint64_t client, uint64_t server, uint64_t common,
                      uint64_t seed) {
  const std::vector<std::string> keys = MakeKeys(shape, client + server - common, seed);
  const auto shared = keys.begin() + static_cast<std::ptrdiff_t>(client - common);
  const auto end_of_client = keys.begin() + static_cast<std::ptrdiff_t>(client);
  GridSets sets;
  sets.client.assign(keys.begin(), end_of_client);
  sets.server.assign(shared, keys.end());
  std::sort(sets.client.begin(), sets.client.end());
  std::sort(sets.server.begin(), sets.server.end());
  return sets;
}

// --------------- One cell of the grid: the planner's choice, and each strategy forced

constexpr double kMostFactor = 1.10;
constexpr double kMostMoreBytes = 20000;
constexpr double kLeastBitsPerDifference = 50;  // of symbols: what need not be tried to lose

class KeySink final : public join::Sink {
 public:
  absl::Status Add(const join::Row& row, join::Side) override {
    keys.emplace_back(row.key);
    return absl::OkStatus();
  }
  absl::Status Commit() override { return absl::OkStatus(); }
  absl::Status Discard() override { return absl::InternalError("a range had to be repeated"); }

  std::vector<std::string> keys;
};

join::MemorySource::Rows RowsOf(const std::vector<std::string>& keys) {
  join::MemorySource::Rows rows;
  rows.reserve(keys.size());
  for (const std::string& key : keys) rows.emplace_back(key, "");
  return rows;
}

absl::Status Exchange(join::Session* client, join::Session* server, uint64_t* bytes) {
  join::Session* const sides[2] = {client, server};
  for (bool any = true; any;) {
    any = false;
    for (const int from : {0, 1}) {
      for (;;) {
        const absl::StatusOr<std::string> message = sides[from]->Next();
        if (!message.ok()) return message.status();
        if (message->empty()) break;
        any = true;
        *bytes += message->size();
        const absl::Status status = sides[1 - from]->Receive(*message);
        if (!status.ok()) return status;
      }
    }
  }
  return absl::OkStatus();
}

struct Cell {
  KeyShape shape = KeyShape::kRandom;
  uint64_t client = 0, server = 0;  // keys
  double overlap_percent = 0;       // of the smaller side
  int most_round_trips = 4;
  uint64_t seed = 1;
};

struct StrategyRun {
  join::Strategy strategy = join::Strategy::kAuto;
  uint64_t bytes = 0;  // of messages, rows apart
  uint64_t range_round_trips = 0;
};

struct CellOutcome {
  std::string error;              // of the first run whose result is not what sets say
  std::vector<StrategyRun> runs;  // auto first
  const StrategyRun& best_forced() const;
  // The promise: never more than 1.10 times the best forced strategy and 20 KB.
  bool KeepsPromise() const;
};

CellOutcome RunCell(const Cell& cell);

const StrategyRun& CellOutcome::best_forced() const {
  return *std::min_element(runs.begin() + 1, runs.end(),
                           [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
}

bool CellOutcome::KeepsPromise() const {
  return static_cast<double>(runs.front().bytes) <=
         kMostFactor * static_cast<double>(best_forced().bytes) + kMostMoreBytes;
}

CellOutcome RunCell(const Cell& cell) {
  const auto common = static_cast<uint64_t>(std::llround(
      cell.overlap_percent / 100 * static_cast<double>(std::min(cell.client, cell.server))));
  const GridSets sets = MakeGridSets(cell.shape, cell.client, cell.server, common, cell.seed);
  const std::vector<std::string> expected = sets.Common();
  const auto differences = static_cast<double>(cell.client + cell.server - 2 * common);
  join::MemorySource here(RowsOf(sets.client)), there(RowsOf(sets.server));
  CellOutcome outcome;
  for (const join::Strategy strategy : join::kAllStrategies) {
    if (strategy == join::Strategy::kSymbols &&
        differences * kLeastBitsPerDifference / 8 > static_cast<double>(outcome.runs[0].bytes)) {
      continue;
    }
    KeySink sink;
    join::ClientSessionOptions client_options;
    client_options.operation = join::Operation::kIntersection;
    client_options.salt = cell.seed * 0x9e3779b97f4a7c15;
    client_options.planner.strategy = strategy;
    client_options.planner.most_round_trips = cell.most_round_trips;
    join::ClientSession client(&here, &sink, client_options);
    join::ServerSession server(&there, {});
    StrategyRun run;
    run.strategy = strategy;
    const absl::Status status = Exchange(&client, &server, &run.bytes);
    const join::Statistics& statistics = client.statistics();
    run.bytes -= statistics.sent.payload + statistics.received.payload;
    run.range_round_trips = statistics.most_range_round_trips;
    if (!status.ok()) outcome.error = status.ToString();
    if (status.ok() && sink.keys != expected) outcome.error = "the result is wrong";
    if (!outcome.error.empty()) {
      outcome.error = std::string(NameOf(strategy)) + ": " + outcome.error;
      return outcome;
    }
    outcome.runs.push_back(run);
  }
  return outcome;
}

// -------------------------------------------------------------------------------------- The grid

struct Sizes {
  uint64_t client, server;
};

std::vector<Cell> CellsOf(bool quick, int round_trips, uint64_t seed) {
  const std::vector<Sizes> sizes =
      quick ? std::vector<Sizes>{{3000, 3000}, {40, 8000}, {8000, 40}}
            : std::vector<Sizes>{{200, 200000},   {2000, 200000}, {20000, 200000},
                                 {1000, 1000},    {30000, 30000}, {200000, 200000},
                                 {200000, 20000}, {200000, 2000}, {200000, 200}};
  const std::vector<double> overlaps =
      quick ? std::vector<double>{0, 50, 99, 100} : std::vector<double>{0, 1, 10, 50, 90, 99, 100};
  std::vector<Cell> cells;
  for (const KeyShape shape : kAllKeyShapes) {
    for (const Sizes& size : sizes) {
      for (const double overlap : overlaps) {
        cells.push_back({shape, size.client, size.server, overlap, round_trips, seed});
      }
    }
  }
  return cells;
}

nlohmann::ordered_json JsonOf(const Cell& cell, const CellOutcome& outcome) {
  nlohmann::ordered_json bytes, round_trips;
  for (const StrategyRun& run : outcome.runs) {
    bytes[std::string(NameOf(run.strategy))] = run.bytes;
    round_trips[std::string(NameOf(run.strategy))] = run.range_round_trips;
  }
  return {{"keys", NameOf(cell.shape)},
          {"asking_keys", cell.client},
          {"answering_keys", cell.server},
          {"overlap_percent", cell.overlap_percent},
          {"most_round_trips", cell.most_round_trips},
          {"bytes", bytes},
          {"round_trips", round_trips},
          {"keeps_promise", outcome.KeepsPromise()}};
}

int Main(int argc, char** argv) {
  bool quick = false;
  int round_trips = 4;
  uint64_t seed = 1;
  std::string json_path;
  CLI::App app("Whether the planner keeps up with the best forced strategy, over a grid.");
  app.add_flag("--quick", quick, "small sets: some seconds");
  app.add_option("--round-trips", round_trips, "at most, per range (4)")->check(CLI::Range(1, 100));
  app.add_option("--seed", seed, "of keys and salts (1)");
  std::string only;
  app.add_option("--only", only, "a shape of keys: random, dense-ids, uuids, paths (all)");
  app.add_option("--json", json_path, "a file for all bytes of all strategies");
  CLI11_PARSE(app, argc, argv);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::printf("%-10s %8s %8s %8s %10s %3s  %-10s %10s %7s\n", "keys", "client", "server", "overlap",
              "auto bytes", "RTs", "best", "bytes", "ratio");
  int broken = 0;
  const std::vector<Cell> cells = CellsOf(quick, round_trips, seed);
  for (const Cell& cell : cells) {
    if (!only.empty() && NameOf(cell.shape) != only) continue;
    const CellOutcome outcome = RunCell(cell);
    const std::string shape(NameOf(cell.shape));
    if (!outcome.error.empty()) {
      std::fprintf(stderr, "join_grid: %s, %llu x %llu, %g %%: %s\n", shape.c_str(),
                   static_cast<unsigned long long>(cell.client),
                   static_cast<unsigned long long>(cell.server), cell.overlap_percent,
                   outcome.error.c_str());
      return 3;
    }
    const StrategyRun& chosen = outcome.runs.front();
    const StrategyRun& best = outcome.best_forced();
    const bool kept = outcome.KeepsPromise();
    broken += kept ? 0 : 1;
    std::printf(
        "%-10s %8llu %8llu %6g %% %10llu %3llu  %-10s %10llu %7.2f%s\n", shape.c_str(),
        static_cast<unsigned long long>(cell.client), static_cast<unsigned long long>(cell.server),
        cell.overlap_percent, static_cast<unsigned long long>(chosen.bytes),
        static_cast<unsigned long long>(chosen.range_round_trips),
        std::string(NameOf(best.strategy)).c_str(), static_cast<unsigned long long>(best.bytes),
        static_cast<double>(chosen.bytes) / static_cast<double>(best.bytes),
        kept ? "" : "  BROKEN");
    std::fflush(stdout);
    rows.push_back(JsonOf(cell, outcome));
  }
  if (!json_path.empty() && !(std::ofstream(json_path) << rows.dump(2) << "\n").flush()) {
    std::fprintf(stderr, "join_grid: cannot write %s\n", json_path.c_str());
    return 2;
  }
  std::printf("\n%zu cells, %d of them beyond 1.10 times the best forced strategy + 20 KB\n",
              rows.size(), broken);
  return broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace rocksieve::bench

int main(int argc, char** argv) { return rocksieve::bench::Main(argc, argv); }
