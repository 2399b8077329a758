#include "tools/explain/report.h"

#include <algorithm>
#include <cmath>

#include "support/text.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kWidth = 96;
constexpr size_t kMostProblems = 20;
constexpr char kRemedy[] =
    "A damaged filter loses no key: lookups read the file as if it had none, and a compaction of "
    "it\n"
    "writes a new one; rocksieve inspect FILE.sst says more. A damaged or missing file has to be\n"
    "restored, or the database repaired, in a copy: ldb repair --db=COPY\n";

// Three significant digits: rates range over many powers of ten.
std::string Rounded(double number) {
  if (number < 0) return "-";
  if (number == 0) return "0";
  const int digits = 2 - static_cast<int>(std::floor(std::log10(number)));
  return Fixed(number, std::clamp(digits, 0, 7));
}

std::string PercentOf(double share) { return share < 0 ? "-" : Rounded(100 * share); }

std::string SettingText(const FilterGroup& group) {
  if (group.smallest.unit.empty()) return "";
  const auto value = [](double v) { return Fixed(v, v == std::floor(v) ? 0 : 1); };
  std::string text = value(group.smallest.value);
  if (value(group.largest.value) != text) text += " to " + value(group.largest.value);
  return text + " " + group.smallest.unit;
}

std::string LevelName(int level) { return "L" + std::to_string(level); }

std::vector<std::string> RatesRow(const std::string& name, const Totals& totals) {
  return {name,
          Thousands(totals.files),
          Thousands(totals.files_without_filter),
          Thousands(totals.entries),
          Thousands(totals.filter_bytes),
          Fixed(totals.BitsPerEntry(), 2),
          PercentOf(totals.predicted_rate),
          PercentOf(totals.measured_rate),
          Fixed(totals.files_met, 2),
          Rounded(1000 * totals.measured_passes)};
}

std::string RatesTable(const FamilyExplanation& family) {
  std::vector<std::vector<std::string>> rows = {
      {"", "", "no", "", "filter", "bits", "predicted", "measured", "files per", "pass per"},
      {"level", "files", "filter", "keys", "bytes", "per key", "rate, %", "rate, %", "lookup",
       "1000 miss."}};
  for (const LevelExplanation& level : family.levels) {
    rows.push_back(RatesRow(LevelName(level.level), level.totals));
  }
  rows.push_back(RatesRow("all", family.totals));
  return AlignedTable(rows);
}

std::string FiltersList(const FamilyExplanation& family) {
  std::string text;
  for (const LevelExplanation& level : family.levels) {
    for (const FilterGroup& group : level.filters) {
      text += "  " + LevelName(level.level) + "  " + group.family;
      const std::string setting = SettingText(group);
      if (!setting.empty()) text += ", " + setting;
      if (group.partitioned_files > 0) text += ", partitioned";
      text += ": " + Thousands(group.files) + (group.files == 1 ? " file\n" : " files\n");
    }
  }
  return text;
}

std::string Sum(const FamilyExplanation& family, bool own_probes) {
  if (!family.reads_known) return "";
  std::string text = "A lookup of a missing key reads ";
  if (family.reads_are_upper_bound) text += "at most ";
  text += Rounded(family.expected_reads) +
          " data blocks in vain (95 %: " + Rounded(family.expected_reads_low_95) + " to " +
          Rounded(family.expected_reads_high_95) + "; from " + Thousands(family.probes.keys) +
          (own_probes ? " keys of yours" : " random keys") +
          "; predicted: " + Rounded(family.predicted_reads) +
          "). Without filters: " + Rounded(family.reads_without_filters) + ". " +
          Fixed(100 * family.totals.ShareWithoutFilter(), 1) + " % of the files have no filter.";
  return Wrapped(text, kWidth) + "\n";
}

std::string FamilyReport(const FamilyExplanation& family, bool own_probes) {
  std::string text = "Column family " + family.tree.family.name + ": ";
  if (family.tree.levels.empty()) {
    text += "no files, so no filters, and lookups read nothing.\n";
  } else {
    text += Thousands(family.totals.files) + " files, " + Thousands(family.totals.entries) +
            " keys, " + Thousands(family.totals.filter_bytes) + " bytes of filters\n\n" +
            RatesTable(family) + "\nFilters:\n" + FiltersList(family) + "\n" +
            Sum(family, own_probes);
  }
  for (const std::string& note : family.notes)
    text += Wrapped("Note: " + note + ".", kWidth) + "\n";
  const size_t shown = std::min(family.problems.size(), kMostProblems);
  for (size_t i = 0; i < shown; i++) {
    text += Wrapped("Damaged: " + family.problems[i], kWidth) + "\n";
  }
  if (family.problems.size() > shown) {
    text += "... and " + Thousands(family.problems.size() - shown) + " more; --json has all.\n";
  }
  if (shown > 0) text += kRemedy;
  return text;
}

}  // namespace

std::string TextReport(const Explanation& explanation) {
  std::string text;
  for (const FamilyExplanation& family : explanation.families) {
    if (!text.empty()) text += "\n";
    text += FamilyReport(family, explanation.own_probes);
  }
  if (explanation.write_ahead_log_bytes > 0) {
    text += Wrapped("Note: write-ahead logs of " + Thousands(explanation.write_ahead_log_bytes) +
                        " bytes may hold keys that are in no file yet, and so not in this report.",
                    kWidth) +
            "\n";
  }
  return text;
}

}  // namespace rocksieve::tools
