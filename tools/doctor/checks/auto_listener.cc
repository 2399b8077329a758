// auto-without-listener.
#include "tools/doctor/checks.h"
#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

// What the policy itself has said since the database was opened; null if it has built nothing yet.
const LoggedLine* Follows(const Facts& facts, const std::string& family) {
  if (facts.log() == nullptr) return nullptr;
  const auto found = facts.log()->follows.find(family);
  return found == facts.log()->follows.end() ? nullptr : &found->second;
}

}  // namespace

void CheckAutoListener(const Facts& facts, Findings* findings) {
  const bool named = facts.DbOption("listeners").find("rocksieve.listener") != std::string::npos;
  for (const FamilyFacts& family : facts.families) {
    if (!family.policy.is_auto || !family.policy.works()) continue;
    const LoggedLine* const follows = Follows(facts, family.name());
    const bool listens =
        follows == nullptr ? named : follows->text.find("own history") == std::string::npos;
    if (listens) continue;
    std::vector<std::string> evidence = {QuoteTableOption(facts, family.name(), "filter_policy"),
                                         QuoteDbOption(facts, "listeners")};
    if (follows != nullptr) {
      evidence.push_back(facts.log()->name + ", line " + std::to_string(follows->line) + ": " +
                         follows->text);
    }
    findings->push_back(
        {"auto-without-listener", Severity::kWarning, family.name(),
         "rocksieve.auto works without its listener", evidence,
         "It has to guess from what it has built which files are alive: the budget is kept less "
         "exactly.",
         "Set the database's option listeners={rocksieve.listener}, or in C++ add "
         "rocksieve::NewListener() to its listeners."});
  }
}

}  // namespace rocksieve::tools
