#include "bench/join/grid_run.h"

#include <algorithm>
#include <cmath>

#include <absl/status/status.h>

#include "lib/join/rows/memory_source.h"
#include "lib/join/session/client_session.h"
#include "lib/join/session/server_session.h"

namespace rocksieve::bench {
namespace {

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

}  // namespace

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

}  // namespace rocksieve::bench
