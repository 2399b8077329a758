// SPDX-License-Identifier: Apache-2.0
// Where the CPU time of a join goes, and what it takes of the allocator: `./run bench join
// --stages` and `--allocations`.
#include <map>
#include <utility>
#include <vector>

#include "bench/allocations.h"
#include "bench/clock.h"
#include "bench/join/sessions.h"
#include "lib/join/matching/planner.h"
#include "lib/join/session/messages.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

using Kind = Column::Kind;

std::string NameOfPart(join::Part part) {
  switch (part) {
    case join::Part::kMatchBitmap:
      return "matches";
    case join::Part::kSum:
      return "sum";
    case join::Part::kDifference:
      return "difference";
    case join::Part::kMoreSymbols:
      return "more symbols?";
    case join::Part::kEmptyCellBitmap:
      return "empty cells";
    case join::Part::kMoreParity:
      return "more parity?";
    case join::Part::kParity:
      return "parity";
    case join::Part::kDeferredKeys:
      return "deferred";
    default:
      return std::string(NameOf(part));
  }
}

struct NameOfMessage {
  std::string operator()(const join::Hello&) const { return "hello"; }
  std::string operator()(const join::HelloAnswer&) const { return "hello"; }
  std::string operator()(const join::Open&) const { return "open"; }
  std::string operator()(const join::Facts&) const { return "facts"; }
  std::string operator()(const join::Step& step) const {
    std::string name;
    join::VisitParts(step.message, [&name](join::Part part, std::string_view) {
      name += (name.empty() ? "" : " + ") + NameOfPart(part);
    });
    return name;
  }
  std::string operator()(const join::Goodbye&) const { return "goodbye"; }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "other";
  }
};

std::string NameOf(std::string_view message) {
  const absl::StatusOr<join::Message> decoded = join::Decode(message);
  return decoded.ok() ? std::visit(NameOfMessage(), *decoded) : "damaged";
}

struct Stage {
  bool is_client = false;
  std::string name;
  double seconds = 0;
  uint64_t bytes = 0;  // said
};

// What a side does between two messages of its own belongs to the second one.
class StageList {
 public:
  void Add(const Act& act) {
    Stage& open = open_[act.is_client ? 0 : 1];
    open.is_client = act.is_client;
    open.seconds += act.cpu_seconds;
    if (!act.received.empty()) Append(NameOf(act.received), &open.name);
    if (act.sent.empty()) return;
    const std::string heard = std::move(open.name);
    open.name = (heard.empty() ? "" : heard + " -> ") + NameOf(act.sent);
    open.bytes = act.sent.size();
    stages_.push_back(std::exchange(open, Stage()));
  }
  std::vector<Stage> Take() {
    for (Stage& open : open_) {
      if (!open.name.empty()) stages_.push_back(std::move(open));
    }
    return std::move(stages_);
  }

 private:
  static void Append(const std::string& name, std::string* names) {
    *names += (names->empty() ? "" : ", ") + name;
  }

  Stage open_[2];
  std::vector<Stage> stages_;
};

// One join in one range that is counted, of keys with so many percent in common.
SessionSettings OneRange(uint64_t keys, uint64_t seed) {
  SessionSettings settings;
  settings.operation = join::Operation::kCount;
  settings.keys_per_range = keys;
  settings.seed = seed;
  return settings;
}

std::vector<Stage> RunOnce(double percent, uint64_t seed, FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  const KeySets sets = RandomKeySets(keys, keys, Alike(keys, percent).common, seed);
  StageList stages;
  SessionSettings settings = OneRange(keys, seed);
  settings.act_done = [&stages](const Act& act) { stages.Add(act); };
  const SessionOutcome outcome = RunSession(sets, sets.Common(), settings);
  if (!outcome.error.empty()) run->Fail(Shortest(percent) + " %: " + outcome.error);
  return stages.Take();
}

}  // namespace

Table MeasureStages(FigureRun* run) {
  const auto keys = static_cast<double>(run->settings.keys);
  Table table;
  table.name = "stages";
  table.title = "STAGES";
  table.explanation =
      "Two sides of " + Thousands(run->settings.keys) +
      " random keys of 16 bytes each, in one range, that are counted. CPU time by what a side "
      "hears, and says to that: ns for each key of one side; medians of the runs in which it came "
      "to that, of " +
      std::to_string(run->settings.seeds) + ". The last line of each overlap: both sides together.";
  table.columns = {kOverlap,
                   {"side", "", "side", Kind::kText},
                   {"stage", "", "hears -> says", Kind::kText},
                   {"ns_per_key", "ns per", "key", Kind::kFixed, 1},
                   {"bytes", "", "bytes", Kind::kFixed, 0}};
  for (const double percent : run->settings.overlap_percents) {
    std::vector<std::pair<bool, std::string>> order;
    std::map<std::pair<bool, std::string>, std::vector<Stage>> stages;
    std::vector<double> totals, bytes;
    for (uint64_t seed = 0; seed < run->settings.seeds; seed++) {
      run->Begin("stages, " + Shortest(percent) + " %, run " + std::to_string(seed + 1));
      double total = 0;
      uint64_t sent = 0;
      for (Stage& stage : RunOnce(percent, seed + 1, run)) {
        total += stage.seconds;
        sent += stage.bytes;
        const std::pair<bool, std::string> name = {stage.is_client, stage.name};
        if (!stages.contains(name)) order.push_back(name);
        stages[name].push_back(std::move(stage));
      }
      totals.push_back(total);
      bytes.push_back(static_cast<double>(sent));
    }
    const auto add = [&](const char* side, const std::string& stage,
                         const std::vector<double>& took, const std::vector<double>& said) {
      table.rows.push_back({{"part", Shortest(percent)},
                            {"overlap_percent", percent},
                            {"side", side},
                            {"stage", stage},
                            {"ns_per_key", 1e9 * MedianOf(took) / keys},
                            {"bytes", static_cast<uint64_t>(MedianOf(said))}});
    };
    for (const auto& name : order) {
      std::vector<double> seconds, said;
      for (const Stage& stage : stages[name]) {
        seconds.push_back(stage.seconds);
        said.push_back(static_cast<double>(stage.bytes));
      }
      add(name.first ? "client" : "server", name.second, seconds, said);
    }
    add("both", "all", totals, bytes);
  }
  return table;
}

Table MeasureAllocations(FigureRun* run) {
  Table table;
  table.name = "allocations";
  table.title = "ALLOCATIONS";
  table.explanation =
      "Two sides of random keys of 16 bytes each, in one range, that are counted. Of both sides "
      "together, the keys themselves apart: how often memory is allocated, and the most that is "
      "held at once.";
  table.columns = {kOverlap,
                   {"keys", "", "keys", Kind::kFixed, 0},
                   {"allocations", "allo-", "cations", Kind::kFixed, 0},
                   {"peak_bytes_per_key", "most bytes", "per key", Kind::kFixed, 1}};
  for (const double percent : run->settings.overlap_percents) {
    for (const uint64_t keys : {run->settings.keys / 4, run->settings.keys}) {
      run->Begin("allocations, " + Shortest(percent) + " %");
      constexpr uint64_t seed = 1;
      const KeySets sets = RandomKeySets(keys, keys, Alike(keys, percent).common, seed);
      const Keys expected = sets.Common();
      const AllocationCounter counter;
      const SessionOutcome outcome = RunSession(sets, expected, OneRange(keys, seed));
      const double peak = static_cast<double>(counter.PeakBytes());
      const size_t allocations = counter.Allocations();
      if (!outcome.error.empty()) run->Fail(Shortest(percent) + " %: " + outcome.error);
      table.rows.push_back({{"part", Shortest(percent)},
                            {"overlap_percent", percent},
                            {"keys", keys},
                            {"allocations", allocations},
                            {"peak_bytes_per_key", peak / static_cast<double>(keys)}});
    }
  }
  return table;
}

}  // namespace rocksieve::bench
