// unreadable-files, damaged-filters, later-version-filters, plugin-report.
#include <algorithm>

#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

constexpr size_t kMostQuoted = 5;

std::vector<std::string> Shortened(std::vector<std::string> lines) {
  if (lines.size() <= kMostQuoted) return lines;
  const size_t more = lines.size() - kMostQuoted;
  lines.resize(kMostQuoted);
  lines.push_back("and " + std::to_string(more) + " more");
  return lines;
}

void CheckFamily(const FamilyFacts& family, Findings* findings) {
  std::vector<std::string> unreadable, damaged, later;
  for (const TreeFile* file : family.unreadable_files()) {
    // The tables of other formats are not for us to judge.
    if (family.is_block_based) unreadable.push_back(file->name + ": " + file->error);
  }
  for (const TreeFile* file : family.files()) {
    if (file->filter.layout == FilterLayout::kObsolete) continue;  // see CheckFiltersAreRead
    for (const std::string& problem : file->filter.problems) {
      const bool is_later = problem.find("later version") != std::string::npos;
      (is_later ? later : damaged).push_back(file->name + ": " + problem);
    }
  }
  if (!unreadable.empty()) {
    findings->push_back({"unreadable-files", Severity::kError, family.name(),
                         "there are table files that cannot be read", Shortened(unreadable),
                         "Lookups that come to them fail, or find nothing.",
                         "Restore them from a backup or a replica; ldb repair on a copy of the "
                         "database saves the rest."});
  }
  if (!damaged.empty()) {
    findings->push_back(
        {"damaged-filters", Severity::kError, family.name(), "there are damaged filter blocks",
         Shortened(damaged),
         "No key is lost to a damaged filter of rocksieve: its file is read without one. Where "
         "RocksDB's own checksum of the block is wrong, lookups in the file fail.",
         "Check the disk. Compacting the file builds a new filter, if its data can still be "
         "read."});
  }
  if (!later.empty()) {
    findings->push_back({"later-version-filters", Severity::kError, family.name(),
                         "there are filters of a later version of rocksieve", Shortened(later),
                         "They answer every question with \"may match\".",
                         "Load the librocksieve.so that wrote them, or compact everything."});
  }
}

}  // namespace

void CheckDamage(const Facts& facts, Findings* findings) {
  const size_t before = findings->size();
  for (const FamilyFacts& family : facts.families) CheckFamily(family, findings);
  // What the plugin saw is a finding of its own only if we do not see it: the file may be gone.
  if (findings->size() > before || facts.log() == nullptr) return;
  std::vector<std::string> reports;
  for (const LoggedLine& report : facts.log()->plugin_reports) {
    if (report.text.find("without filters") != std::string::npos) continue;  // see bad-spec
    reports.push_back(facts.log()->name + ", line " + std::to_string(report.line) + ": " +
                      report.text);
  }
  if (reports.empty()) return;
  findings->push_back({"plugin-report", Severity::kWarning, "",
                       "rocksieve has reported something since the database was opened",
                       Shortened(reports), "As the report says.", "As the report says."});
}

}  // namespace rocksieve::tools
