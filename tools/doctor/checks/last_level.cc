// last-level-unfiltered.
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {

void CheckLastLevel(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    Files skipped;
    for (const TreeFile* file : family.files()) {
      if (!file->filter_is_asked) skipped.push_back(file);
    }
    if (skipped.empty()) continue;
    findings->push_back(
        {"last-level-unfiltered",
         Severity::kWarning,
         family.name(),
         "the last level works without filters",
         {QuoteFamilyOption(facts, family.name(), "optimize_filters_for_hits"),
          QuoteFiles(skipped, family)},
         "Every lookup of a missing key reads a data block of the last level.",
         "Set optimize_filters_for_hits=false and compact everything, unless nearly all lookups "
         "find their key."});
  }
}

}  // namespace rocksieve::tools
