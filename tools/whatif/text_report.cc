#include <algorithm>
#include <cmath>

#include "support/text.h"
#include "tools/whatif/report.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 100, kDrawingWidth = 80;

using Rows = std::vector<std::vector<std::string>>;

std::string PerThousand(double reads) {
  const double per_thousand = 1000 * reads;
  if (reads < 0) return "-";
  return Fixed(per_thousand, per_thousand >= 100 ? 0 : per_thousand >= 1 ? 1 : 4);
}

std::string Percentage(double share) {
  const double percent = 100 * share;
  return Fixed(percent, percent >= 99.95 ? 0 : percent >= 0.1 ? 2 : 5);
}

std::string BitsPerEntry(double bytes, uint64_t entries) {
  return entries == 0 ? "-" : Fixed(8 * bytes / static_cast<double>(entries), 2);
}

std::string Bytes(double bytes) { return Thousands(static_cast<uint64_t>(std::llround(bytes))); }

std::string Policies(const WhatIfResult& result) {
  const uint64_t entries = result.tree.Entries();
  Rows rows = {{"", "filter", "bits per", "useless reads per", "build,", "probes, ns"},
               {"policy", "bytes", "entry", "1,000 missing keys", "s", "per missing key"}};
  const auto row = [&](const std::string& name, const Prediction& p) -> std::vector<std::string> {
    return {name, Bytes(p.filter_bytes), BitsPerEntry(p.filter_bytes, entries),
            PerThousand(p.reads)};
  };
  rows.push_back(row("now", result.now));
  rows.back().insert(rows.back().end(), {"-", "-"});
  for (const PolicyResult& policy : result.policies) {
    rows.push_back(row(policy.spec.text(), policy.prediction));
    rows.back().push_back(Fixed(policy.build_seconds, policy.build_seconds < 1 ? 3 : 1));
    rows.back().push_back(Fixed(policy.probe_ns, 0));
  }
  return AlignedTable(rows);
}

// Bits per entry and rate of some policies, level by level; of the filters that are there, too.
std::string LevelsOf(const WhatIfResult& result, size_t begin, size_t end) {
  std::vector<const Prediction*> predictions = {&result.now};
  Rows rows = {{"level", "files", "entries", "asked", "now:", "rate"},
               {"", "", "", "per miss", "bits", "%"}};
  std::string names;
  for (size_t i = begin; i < end; i++) {
    const std::string number = "(" + std::to_string(i + 1) + ")";
    predictions.push_back(&result.policies[i].prediction);
    rows[0].insert(rows[0].end(), {number, "rate"});
    rows[1].insert(rows[1].end(), {"bits", "%"});
    names += number + " " + result.policies[i].spec.text() + "\n";
  }
  for (size_t i = 0; i < result.now.levels.size(); i++) {
    const LevelPrediction& level = result.now.levels[i];
    rows.push_back({std::to_string(level.level), Thousands(level.files), Thousands(level.entries),
                    Fixed(level.meets, 2)});
    for (const Prediction* prediction : predictions) {
      rows.back().push_back(BitsPerEntry(prediction->levels[i].filter_bytes, level.entries));
      rows.back().push_back(Percentage(prediction->levels[i].rate()));
    }
  }
  return AlignedTable(rows) + names;
}

std::string Levels(const WhatIfResult& result) {
  constexpr size_t kPoliciesPerTable = 3;
  std::string text;
  size_t begin = 0;
  do {
    const size_t end = std::min(begin + kPoliciesPerTable, result.policies.size());
    text += (begin == 0 ? "" : "\n") + LevelsOf(result, begin, end);
    begin = end;
  } while (begin < result.policies.size());
  return text;
}

std::string BudgetTable(const WhatIfResult& result) {
  Rows rows = {{"bits per", "filter"}, {"entry", "bytes"}};
  for (const Curve& curve : result.curves) {
    const size_t cut = curve.name.find_first_of(" .");
    rows[0].push_back(curve.name.substr(0, cut));
    rows[1].push_back(curve.name.substr(cut == std::string::npos ? 0 : cut));
  }
  for (const BudgetRow& budget : result.budgets) {
    rows.push_back({std::to_string(budget.bits_per_entry), Bytes(budget.filter_bytes)});
    for (const double reads : budget.reads) rows.back().push_back(PerThousand(reads));
  }
  return AlignedTable(rows);
}

std::string Paragraph(const std::string& text) { return Wrapped(text, kWidth) + "\n"; }

std::string Section(const WhatIfOptions& options, const WhatIfResult& result) {
  const PlannedTree& tree = result.tree;
  std::string text =
      Paragraph("Column family " + tree.column_family + ": " + Thousands(tree.Entries()) +
                " entries in " + Thousands(tree.files.size()) +
                " files. Each file with the filter that the policy would give " +
                "it at its own level; missing keys " +
                (options.probes.empty() ? "distributed like the data." : "are those of --probes."));
  for (const std::string& warning : result.warnings) text += Paragraph("Warning: " + warning);
  text += "\n" + Policies(result) + "\n" + Levels(result) + "\n";
  text += "Useless reads per 1,000 missing keys, each family in the same memory:\n\n" +
          BudgetTable(result) + "\n";
  text += TerminalDrawing(ReadsChart(options, result), kDrawingWidth) + "\n";
  const Recommendation& recommendation = result.recommendation;
  text += Paragraph((recommendation.spec.empty() ? "" : "Recommended: ") + recommendation.reason);
  return text + "\n" +
         Paragraph(
             "Times were measured in this process just now, on one thread: filters of "
             "200,000 keys, in memory.");
}

}  // namespace

std::string TextReport(const WhatIfOptions& options, const std::vector<WhatIfResult>& results) {
  if (results.empty()) {
    return "The database has no table files, so there is nothing to filter yet.\n";
  }
  std::string text;
  for (const WhatIfResult& result : results) {
    text += (text.empty() ? "" : "\n") + Section(options, result);
  }
  return text;
}

}  // namespace rocksieve::tools
