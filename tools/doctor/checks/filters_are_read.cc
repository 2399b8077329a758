// unreadable-filters, obsolete-filters.
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

constexpr char kCompact[] =
    "compact everything (CompactRange with BottommostLevelCompaction::kForce): that builds them "
    "anew";

bool IsOurs(const TreeFile& file) { return file.filter.family.rfind("rocksieve", 0) == 0; }

}  // namespace

void CheckFiltersAreRead(const Facts& facts, Findings* findings) {
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.works()) continue;
    Files other_name, ours_for_builtin, obsolete;
    for (const TreeFile* file : family.files()) {
      if (!file->filter.exists()) continue;
      if (file->filter.layout == FilterLayout::kObsolete) {
        obsolete.push_back(file);
      } else if (file->filter.stored_name != family.policy.stored_name) {
        other_name.push_back(file);
      } else if (family.policy.kind == PolicyFacts::Kind::kBuiltin && IsOurs(*file)) {
        ours_for_builtin.push_back(file);
      }
    }
    const std::string policy = QuoteTableOption(facts, family.name(), "filter_policy");
    if (!other_name.empty()) {
      findings->push_back(
          {"unreadable-filters",
           Severity::kError,
           family.name(),
           "there are filters of another policy, which this one does not look for",
           {policy + " looks for filters with the name " + family.policy.stored_name,
            "with the name " + other_name.front()->filter.stored_name + ": " +
                QuoteFiles(other_name, family)},
           "Their files are read as if they had no filters.",
           "Name the policy that they were built with" +
               (other_name.front()->properties.filter_policy_name.empty()
                    ? std::string()
                    : " (" + other_name.front()->properties.filter_policy_name + ")") +
               ", or " + kCompact + "."});
    }
    if (!ours_for_builtin.empty()) {
      findings->push_back(
          {"unreadable-filters",
           Severity::kError,
           family.name(),
           "there are filters of rocksieve, which RocksDB's own policies cannot ask",
           {policy, "of the family " + ours_for_builtin.front()->filter.family + ": " +
                        QuoteFiles(ours_for_builtin, family)},
           "They answer every question with \"may match\".",
           std::string("Name a policy of rocksieve again, or ") + kCompact + "."});
    }
    if (!obsolete.empty()) {
      findings->push_back({"obsolete-filters",
                           Severity::kError,
                           family.name(),
                           "there are filters in a form that RocksDB 7.0 and later do not read",
                           {"one filter per data block: " + QuoteFiles(obsolete, family)},
                           "Their files are read as if they had no filters.",
                           std::string("To have filters again, ") + kCompact + "."});
    }
  }
}

}  // namespace rocksieve::tools
