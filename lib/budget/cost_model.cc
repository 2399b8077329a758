#include "lib/budget/cost_model.h"

#include "lib/filter/family.h"

namespace rocksieve {

double CostModel::ProbeNs(Family family) const {
  const auto found = probe_ns.find(family);
  if (found != probe_ns.end()) return found->second;
  const FamilyEntry* const entry = FindFamily(family);
  return entry == nullptr ? 0 : entry->probe_ns;
}

}  // namespace rocksieve
