// auto-without-listener.
#include "doctor/checks.h"
#include "doctor/checks/evidence.h"

namespace rocksieve::tools {

void CheckAutoListener(const Facts& facts, Findings* findings) {
  if (facts.DbOption("listeners").find("rocksieve.listener") != std::string::npos) return;
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.is_auto || !family.policy.works()) continue;
    findings->push_back(
        {"auto-without-listener", Severity::kWarning, family.name(),
         "rocksieve.auto works without its listener",
         {QuoteTableOption(facts, family.name(), "filter_policy"), QuoteDbOption(facts, "listeners")},
         "It has to guess which files are alive: the budget is kept less exactly.",
         "Set the database's option listeners={rocksieve.listener}, or attach it in C++."});
  }
}

}  // namespace rocksieve::tools
