// SPDX-License-Identifier: Apache-2.0
#include "bench/join/stages.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/join/session_run.h"
#include "lib/join/matching/planner.h"
#include "lib/join/session/messages.h"
#include "support/text.h"

namespace rocksieve::bench {
namespace {

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

std::vector<Stage> RunOnce(double percent, uint64_t seed, FigureRun* run) {
  const uint64_t keys = run->settings.keys;
  const auto common =
      static_cast<uint64_t>(std::llround(percent / 100 * static_cast<double>(keys)));
  const KeySets sets = RandomKeySets(keys, keys, common, seed);
  const Keys expected = sets.Common();
  StageList stages;
  SessionSettings settings;
  settings.operation = join::Operation::kCount;
  settings.keys_per_range = keys;
  settings.strategy = run->settings.strategy;
  settings.seed = seed;
  settings.act_done = [&stages](const Act& act) { stages.Add(act); };
  const SessionOutcome outcome = RunSession(sets, expected, settings);
  if (!outcome.error.empty()) run->failures.push_back(Shortest(percent) + " %: " + outcome.error);
  return stages.Take();
}

struct Total {
  double ns_per_key = 0;
  uint64_t bytes = 0;
};

// Of one run of another program, as its --json says.
Total RunElsewhere(const std::string& program, double percent, uint64_t seed,
                   const FigureRun& run) {
  const std::string report =
      std::filesystem::temp_directory_path() /
      ("rocksieve_stages_" + std::to_string(seed) + "_" + std::to_string(getpid()) + ".json");
  const std::string command = "'" + program + "' --stages --overlaps=" + Shortest(percent) +
                              " --keys=" + std::to_string(run.settings.keys) +
                              " --seeds=1 --first-seed=" + std::to_string(seed) +
                              " --strategy=" + std::string(NameOf(run.settings.strategy)) +
                              " --json='" + report + "' > /dev/null";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  const nlohmann::json document = nlohmann::json::parse(std::ifstream(report));
  std::filesystem::remove(report);
  const nlohmann::json& last = document.at("tables").at("stages").back();
  return {last.at("ns_per_key").get<double>(), last.at("bytes").get<uint64_t>()};
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
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"side", "", "side", Kind::kText},
                   {"stage", "", "hears -> says", Kind::kText},
                   {"ns_per_key", "ns per", "key", Kind::kFixed, 1},
                   {"bytes", "", "bytes", Kind::kFixed, 0}};
  for (const double percent : run->settings.overlap_percents) {
    std::vector<std::pair<bool, std::string>> order;
    std::map<std::pair<bool, std::string>, std::vector<Stage>> stages;
    std::vector<double> totals, bytes;
    for (uint64_t seed = 0; seed < run->settings.seeds; seed++) {
      run->progress("stages, " + Shortest(percent) + " %, run " + std::to_string(seed + 1));
      double total = 0;
      uint64_t sent = 0;
      for (Stage& stage : RunOnce(percent, run->settings.first_seed + seed, run)) {
        total += stage.seconds;
        sent += stage.bytes;
        const std::pair<bool, std::string> name = {stage.is_client, stage.name};
        if (!stages.contains(name)) order.push_back(name);
        stages[name].push_back(std::move(stage));
      }
      totals.push_back(total);
      bytes.push_back(static_cast<double>(sent));
    }
    for (const auto& name : order) {
      std::vector<double> seconds, said;
      for (const Stage& stage : stages[name]) {
        seconds.push_back(stage.seconds);
        said.push_back(static_cast<double>(stage.bytes));
      }
      table.rows.push_back({{"part", Shortest(percent)},
                            {"overlap_percent", percent},
                            {"side", name.first ? "client" : "server"},
                            {"stage", name.second},
                            {"ns_per_key", 1e9 * MedianOf(seconds) / keys},
                            {"bytes", static_cast<uint64_t>(MedianOf(said))}});
    }
    table.rows.push_back({{"part", Shortest(percent)},
                          {"overlap_percent", percent},
                          {"side", "both"},
                          {"stage", "all"},
                          {"ns_per_key", 1e9 * MedianOf(totals) / keys},
                          {"bytes", static_cast<uint64_t>(MedianOf(bytes))}});
  }
  return table;
}

Table CompareWith(const std::string& other_program, FigureRun* run) {
  const std::string here = std::filesystem::read_symlink("/proc/self/exe");
  Table table;
  table.name = "beside";
  table.title = "BESIDE ANOTHER BUILD";
  table.explanation = "The same joins by " + other_program +
                      " and by this program, by turns: " + std::to_string(run->settings.seeds) +
                      " runs of each. CPU time of both sides together, ns for each key of one side "
                      "(medians), and this one's share of the other's: median, least and most of "
                      "the pairs; bytes on the wire likewise.";
  using Kind = Column::Kind;
  table.columns = {{"overlap_percent", "over-", "lap, %", Kind::kSignificant, 3},
                   {"other_ns_per_key", "other,", "ns", Kind::kFixed, 1},
                   {"ns_per_key", "this,", "ns", Kind::kFixed, 1},
                   {"ratio", "", "ratio", Kind::kFixed, 3},
                   {"least_ratio", "", "least", Kind::kFixed, 3},
                   {"most_ratio", "", "most", Kind::kFixed, 3},
                   {"bytes_ratio", "bytes,", "ratio", Kind::kFixed, 4}};
  for (const double percent : run->settings.overlap_percents) {
    std::vector<double> theirs, ours, ratios, bytes;
    for (uint64_t i = 0; i < run->settings.seeds; i++) {
      run->progress("beside, " + Shortest(percent) + " %, run " + std::to_string(i + 1));
      const uint64_t seed = run->settings.first_seed + i;
      const Total there = RunElsewhere(other_program, percent, seed, *run);
      const Total own = RunElsewhere(here, percent, seed, *run);
      theirs.push_back(there.ns_per_key);
      ours.push_back(own.ns_per_key);
      ratios.push_back(own.ns_per_key / there.ns_per_key);
      bytes.push_back(static_cast<double>(own.bytes) / static_cast<double>(there.bytes));
    }
    table.rows.push_back({{"overlap_percent", percent},
                          {"other_ns_per_key", MedianOf(theirs)},
                          {"ns_per_key", MedianOf(ours)},
                          {"ratio", MedianOf(ratios)},
                          {"least_ratio", *std::min_element(ratios.begin(), ratios.end())},
                          {"most_ratio", *std::max_element(ratios.begin(), ratios.end())},
                          {"bytes_ratio", MedianOf(bytes)}});
  }
  return table;
}

}  // namespace rocksieve::bench
