#include "tools/doctor/checks/need_of_plugin.h"

#include "tools/doctor/checks/evidence.h"

namespace rocksieve::tools {
namespace {

bool NamesUs(const std::string& policy) { return policy.rfind("rocksieve", 0) == 0; }

std::string SignOf(const Facts& facts, const FamilyFacts& family) {
  if (NamesUs(family.policy.spec)) return QuoteTableOption(facts, family.name(), "filter_policy");
  if (family.policy.kind != PolicyFacts::Kind::kNone) return "";
  for (const Mention& mention : family.earlier_policies) {
    if (NamesUs(mention.text)) return Quote(mention);
  }
  for (const TreeFile* file : family.files()) {
    const std::string& built_with = file->properties.filter_policy_name;
    if (NamesUs(built_with)) return file->name + " says: filter policy " + built_with;
  }
  return "";
}

}  // namespace

std::string SignOfNeed(const Facts& facts) {
  for (const FamilyFacts& family : facts.families) {
    const std::string sign = SignOf(facts, family);
    if (!sign.empty()) return sign;
  }
  return "";
}

}  // namespace rocksieve::tools
