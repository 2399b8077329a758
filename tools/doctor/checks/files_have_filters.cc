// files-without-filters.
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// With neither whole keys nor prefixes to hold, a filter is empty and left out: see CheckPrefixes.
bool HoldsKeys(const TreeFile& file) {
  return file.properties.whole_keys_filtered || file.properties.prefixes_filtered;
}

}  // namespace

void CheckFilesHaveFilters(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    Files without, without_policy;
    for (const TreeFile* file : family.files()) {
      if (file->filter.exists() || KeysOf(*file) == 0 || !HoldsKeys(*file)) continue;
      if (!file->filter_is_asked) continue;  // see CheckLastLevel
      const std::string& built_with = file->properties.filter_policy_name;
      // `auto` may decide so.
      if (built_with.rfind("rocksieve.auto", 0) == 0) continue;
      without.push_back(file);
      if (built_with.empty()) without_policy.push_back(file);
    }
    if (without.empty()) continue;
    std::vector<std::string> evidence = {QuoteFiles(without, family)};
    if (!without_policy.empty()) {
      evidence.push_back("of these, " + std::to_string(without_policy.size()) +
                         " say that they were built without a policy");
    }
    const std::string& built_with = without.back()->properties.filter_policy_name;
    if (!built_with.empty()) {
      evidence.push_back(without.back()->name + " says: filter policy " + built_with);
    }
    evidence.push_back(QuoteTableOption(facts, family.name(), "filter_policy"));
    findings->push_back(
        {"files-without-filters", Severity::kWarning, family.name(),
         "there are files without filters", evidence,
         "A lookup of a missing key reads a data block in each of them whose range covers it.",
         "Compactions give them filters little by little; a manual one of everything does so at "
         "once (CompactRange with BottommostLevelCompaction::kForce). If new files come without, "
         "find who writes them: another program, or an SstFileWriter with options of its own."});
  }
}

}  // namespace rocksieve::tools
